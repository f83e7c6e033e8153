"""Claims of the papers on TCP under HTTP, each with tests of its name.

A claim's tests begin with its name: ``test_h2_…`` tests H2. ``test_claims.py`` checks
that every claim has a test.

=====  =====================================  ==============================================================
claim  where                                  statement
=====  =====================================  ==============================================================
H1     Heidemann 1996, Table 1                HTTP 43, P-HTTP 605, first fix 195, both fixes 26 ms
H2     Heidemann 1996, Figures 1 and 2        head alone, a segment, and a stall until the delayed ACK
H3     Heidemann 1996, Figures 3 and 4        odd segment unacknowledged, 13 bytes held by Nagle
H4     Heidemann 1996, section 2.4            cwnd after a pause: reset, kept, decayed, paced
H5     Heidemann 1996, section 2.5            a send buffer below the bandwidth-delay product
H6     Heidemann 1996, abstract               14 and 20 times slower; fixed, 40 % faster than HTTP
K1     Kruse 2001, equations 1 to 6           growth of the congestion window
K2     Kruse 2001, equations 7 and 8          M connections, or an M times larger initial window
K3     Kruse 2001, equations 9 to 11, 5.3.3   elements over connections, longest first
K4     Kruse 2001, Figure 8                   order of pipelining, four connections, larger window
K5     Kruse 2001, Figures 3 and 4            one RTT of silence between objects, or pipelining
K6     Kruse 2001, Figure 7                   a request in two packets delays the other connections
K7     Kruse 2001, Table 2, Figure 9          bit errors hit large pages, and slow them down
K8     Kruse 2001, Figures 10 to 13           the model is a lower bound, and close for pipelining
K9     Kruse 2001, section 2.1                two bugs of BSD
B1     Bhalekar 2003, Figure 1.2              round trips before the first data
B2     Bhalekar 2003, Figures 4.1 to 4.5      MaxConn, HTTP/1.1, ExactConn, HTTP/1.0, FTP, in this order
B3     Bhalekar 2003, section 4.4             more connections are faster, until each object has one
B4     Bhalekar 2003, section 4.7             optimized browser: 30 % less than HTTP/1.1, 35 to 45 % less
B5     Bhalekar 2003, section 5.5             cumulative cache: 6 ms, 12 ms, 1 s, 3 to 4.5 s; 40 to 79 % less
B6     Bhalekar 2003, chapters 2, 3 and 7     bytes that caches, compression, deltas and prefetching save
B7     Bhalekar 2003, section 3.1.1           T/TCP serves serial connections, shared blocks all
B8     Bhalekar 2003, section 3.4.1           one segment waits for the delayed ACK, two do not
E1     Eggert 1999, Figure 5, first graph     unlimited: Reno's totals are shorter, HTML-pre's HTML is earlier
E2     Eggert 1999, Figure 5, second graph    with four connections an ensemble is faster than a bundle
E3     Eggert 1999, Figure 5, third graph     a short queue slows a bundle, but not an ensemble
E4     Eggert 1999, Figure 5, fourth graph    both limits: the bundle's losses
E5     Eggert 1999, Figure 6                  a repeated access is faster than the first
E6     Eggert 1999, Figure 3                  a second transfer ends 0.18 s sooner
E7     Eggert 1999, Figure 4                  connections that come and go share a window equally
E8     Eggert 1999, section 6.1               same time as one HTTP/1.1 connection
=====  =====================================  ==============================================================

The tests for Kruse, Eggert, Bhalekar and G1 to G11 (Gürkan's tables) are in ``tests/simulator/reproduction``.
"""
