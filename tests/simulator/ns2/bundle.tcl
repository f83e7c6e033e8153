# A bundle of one-way Reno connections, as Eggert 1999 compares E-TCP with: one sends at 0, the others
# when its first packet has come. Prints when the last ACK of each came, by their numbers.
#
#     ns bundle.tcl packets=58,16,20,24 limit=10

foreach argument $argv {
    lassign [split $argument =] name value
    set option($name) $value
}
Agent/TCP set window_ 20
Agent/TCP set windowInit_ 1
Agent/TCP set packetSize_ 512
# As it was in 1999: no SYNs, round trips in ticks, two of them the least timeout.
Agent/TCP set syn_ false
Agent/TCP set delay_growth_ false
Agent/TCP set singledup_ 0
Agent/TCP set tcpTick_ 0.1
Agent/TCP set rtxcur_init_ 6.0
Agent/TCP set minrto_ 0.2
Agent/TCP set rfc2988_ false
# The first packet takes 50 ms and its 512 bytes, the only ones that ns sends without a header.
set first_came 0.05512

set ns [new Simulator]
set server [$ns node]
set client [$ns node]
$ns duplex-link $server $client 800Kb 50ms DropTail
# DropTail drops what would make its queue as long as the limit; the packet in service is not in it.
$ns queue-limit $server $client $option(limit)
$ns queue-limit $client $server 100000

set number 0
set open 0
foreach packets [split $option(packets) ,] {
    set tcp [new Agent/TCP/Reno]
    set sink [new Agent/TCPSink]
    $ns attach-agent $server $tcp
    $ns attach-agent $client $sink
    $ns connect $tcp $sink
    set source [new Application/FTP]
    $source attach-agent $tcp
    set number_of($tcp) $number
    $ns at [expr {$number == 0 ? 0 : $first_came}] "$source producemore $packets"
    incr number
    incr open
}
Agent/TCP instproc done {} {
    global ns number_of open
    puts "$number_of($self) [$ns now]"
    incr open -1
    if {$open == 0} {
        exit 0
    }
}
$ns at 200 { exit 1 }
$ns run
