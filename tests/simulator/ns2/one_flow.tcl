# One file over BayFullTcp agents through a bottleneck whose queue overflows.
#
#     ns one_flow.tcl bytes=200000 limit=6 rate=0.5Mb trace=FILE

foreach argument $argv {
    lassign [split $argument =] name value
    set option($name) $value
}
Agent/TCP set window_ 14
Agent/TCP set windowInit_ 1
Agent/TCP set tcpTick_ 0.1
Agent/TCP set rtxcur_init_ 6.0
Agent/TCP set minrto_ 0.2
Agent/TCP/BayFullTcp set segsize_ 1460
Agent/TCP/BayFullTcp set segsperack_ 2
Agent/TCP/BayFullTcp set nodelay_ true
Trace set show_tcphdr_ 1

set ns [new Simulator]
$ns trace-all [open $option(trace) w]
set client_gateway [$ns node]
set server_gateway [$ns node]
set client_node [$ns node]
set server_node [$ns node]
$ns duplex-link $client_node $client_gateway 10Mb 1ms DropTail
$ns duplex-link $server_gateway $server_node 10Mb 0.1ms DropTail
$ns duplex-link $client_gateway $server_gateway $option(rate) 50ms DropTail
$ns queue-limit $server_node $server_gateway 100000
# DropTail drops what would make its queue as long as the limit; the packet in service is not in it.
$ns queue-limit $server_gateway $client_gateway $option(limit)

set client [new Agent/TCP/BayFullTcp]
set server [new Agent/TCP/BayFullTcp]
$ns attach-agent $client_node $client
$ns attach-agent $server_node $server
$ns connect $client $server
$server listen
set answerer [new Agent/BayTcpApp/FtpServer]
$answerer file_size $option(bytes)
set asker [new Agent/BayTcpApp/FtpClient]
$ns attach-agent $client_node $asker
$ns attach-agent $server_node $answerer
$asker tcp $client
$client attach-application $asker
$server attach-application $answerer
$ns at 0 "$asker start"
$ns at 60 { $ns flush-trace; exit 0 }
$ns run
