"""What the papers say of TCP under HTTP, each claim shown by tests that are named after it.

A claim's tests begin with its name: ``test_h2_…`` is of H2. ``test_claims.py`` sees that none is without.

=====  =====================================  ==============================================================
claim  where                                  what it says
=====  =====================================  ==============================================================
H1     Heidemann 1996, Table 1                HTTP 43, P-HTTP 605, first fix 195, both fixes 26 ms
H2     Heidemann 1996, Figures 1 and 2        head alone, a segment, and a stall until the delayed ACK
H3     Heidemann 1996, Figures 3 and 4        odd segment unacknowledged, 13 bytes held by Nagle
H4     Heidemann 1996, section 2.4            windows after a pause: reset, kept, decayed, paced
H5     Heidemann 1996, section 2.5            a send buffer below the bandwidth-delay product
H6     Heidemann 1996, abstract               14 and 20 times slower; fixed, 40 % faster than HTTP
K1     Kruse 2001, equations 1 to 6           growth of the congestion window
K2     Kruse 2001, equations 7 and 8          M connections, or an M times larger initial window
K3     Kruse 2001, equations 9 to 11, 5.3.3   elements over connections, longest first
K4     Kruse 2001, Figure 8                   pipelining, four connections, a larger window: their order
K5     Kruse 2001, Figures 3 and 4            a round trip of silence between objects, or pipelining
K6     Kruse 2001, Figure 7                   a request in two packets delays the other connections
K7     Kruse 2001, Table 2, Figure 9          large pages are hit by bit errors, and suffer from them
K8     Kruse 2001, Figures 10 to 13           the model is a lower bound, and close for pipelining
K9     Kruse 2001, section 2.1                two bugs of BSD
B1     Bhalekar 2003, Figure 1.2              round trips before the first data
E6     Eggert 1999, Figure 3                  a second transfer ends 0.18 s sooner
E7     Eggert 1999, Figure 4                  connections that come and go share a window equally
=====  =====================================  ==============================================================

Those of Kruse are in ``tests/simulator/reproduction``. What whole pages take (Gürkan's tables, Bhalekar's pages,
Eggert's Figures 5 and 6) is elsewhere.
"""
