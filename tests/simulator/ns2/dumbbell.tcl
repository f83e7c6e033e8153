# The dumbbell of Gürkan 1998, section 4.1, with ns-2's stock FullTcp agents, made per connection.
#
#     ns dumbbell.tcl strategy=serial webs=32 ftps=2 seconds=300 seed=1
#     ns dumbbell.tcl strategy=pipelined sizes=6651,3883,1866,1128 seconds=2 trace=FILE
#
# Strategies: serial, parallel, pipelined (one connection, one request outstanding: the thesis's
# Table 4.5), segment-filled. Prints one line `name value` a result. With `sizes` every document is
# that one, clients think for 1 s, and one visit is made; `trace` has every packet of every link.

array set option {
    strategy serial webs 1 ftps 0 seconds 300 seed 1 window 14 initial_window 1 sizes "" trace ""
}
foreach argument $argv {
    lassign [split $argument =] name value
    if {![info exists option($name)]} { error "no option $name: [lsort [array names option]]" }
    set option($name) $value
}

set SEGMENT 1460
set REQUEST 210
set FTP_FILE 1000000
# Milliseconds; the thesis, section 4.1.
set CLIENT_DELAYS {1 2 3 4}
set SERVER_DELAYS {0.1 2 3 4}

Agent/TCP set window_ $option(window)
Agent/TCP set windowInit_ $option(initial_window)
Agent/TCP set tcpTick_ 0.1
Agent/TCP set rtxcur_init_ 6.0
Agent/TCP set minrto_ 0.2
Agent/TCP/FullTcp set segsize_ $SEGMENT
Agent/TCP/FullTcp set nodelay_ true
Trace set show_tcphdr_ 1

set ns [new Simulator]
set random [new RNG]
$random seed $option(seed)
if {$option(trace) ne ""} { $ns trace-all [open $option(trace) w] }
set is_drawn [expr {$option(sizes) eq ""}]

# --- network

set client_gateway [$ns node]
set server_gateway [$ns node]
foreach client_delay $CLIENT_DELAYS server_delay $SERVER_DELAYS {
    set client [$ns node]
    set server [$ns node]
    lappend clients $client
    lappend servers $server
    $ns duplex-link $client $client_gateway 10Mb ${client_delay}ms DropTail
    $ns duplex-link $server_gateway $server 10Mb ${server_delay}ms DropTail
    foreach {from to} [list $client $client_gateway $server $server_gateway] {
        # Only gateways drop.
        $ns queue-limit $from $to 1000000
        $ns queue-limit $to $from 1000000
    }
}
$ns duplex-link $client_gateway $server_gateway 1.5Mb 50ms DropTail
# DropTail drops what would make its queue as long as the limit; the packet in service is not in it.
$ns queue-limit $client_gateway $server_gateway 26
$ns queue-limit $server_gateway $client_gateway 26
set bottleneck [$ns monitor-queue $server_gateway $client_gateway ""]

# --- one connection

# The number of connections made: traces tell them by it.
set connections 0
Class End -superclass Agent/TCP/FullTcp/Tahoe

# ns calls it when the connection is closed at this end.
End instproc done {} { [$self set connection] ended $self }

# A client's connection to its server.
Class Connection
Connection instproc init {index owner} {
    global ns clients servers connections
    $self set owner $owner
    $self set open 2
    $self set nodes [list [lindex $clients [expr {$index % 4}]] [lindex $servers [expr {$index % 4}]]]
    incr connections
    foreach side {client server} node [$self set nodes] {
        set end [new End]
        $end set connection $self
        $end set fid_ $connections
        $ns attach-agent $node $end
        $self set $side $end
    }
    $self instvar client server
    $ns connect $client $server
    $server listen
    $self set asker [new Application/TcpApp $client]
    $self set answerer [new Application/TcpApp $server]
    [$self set asker] connect [$self set answerer]
}

# Sends a request; its answer has so many bytes, and the server closes after it if it is the last.
Connection instproc ask {bytes is_last} {
    [$self set asker] send $::REQUEST "$self answer $bytes $is_last"
}

# The server has the request.
Connection instproc answer {bytes is_last} {
    if {$is_last} { [$self set server] set close_on_empty_ true }
    [$self set answerer] send $bytes "$self answered $bytes"
}

Connection instproc answered bytes { [$self set owner] received $self $bytes }

Connection instproc ended end {
    global ns
    $self instvar open owner
    if {[incr open -1] == 0} { $ns after 0 "$self remove" }
}

Connection instproc remove {} {
    global ns
    $self instvar nodes client server asker answerer owner
    $owner closed
    foreach end [list $client $server] node $nodes { $ns detach-agent $node $end }
    foreach object [list $asker $answerer $client $server $self] { delete $object }
}

# --- web clients

set totals(bytes) 0
set totals(time) 0.0
set totals(retrievals) 0

proc pareto {shape most} {
    global random
    expr {int(min($most, 1000 * pow(1 - [$random uniform 0 1], -1 / $shape)))}
}

# Sizes of the primary file and of three inline ones.
proc document {} {
    global option is_drawn
    if {!$is_drawn} { return [split $option(sizes) ,] }
    list [pareto 0.91 15000] [pareto 1.24 25000] [pareto 1.24 25000] [pareto 1.24 25000]
}

proc think {} {
    global random is_drawn
    expr {$is_drawn ? [$random uniform 1 2] : 1.0}
}

Class Web
Web instproc init index {
    $self set index $index
    $self set unclosed 0
}

Web instproc visit {} {
    $self instvar files
    set files [document]
    $self [string map {- _} $::option(strategy)]
}

Web instproc serial {} {
    $self instvar files
    set files [lassign $files bytes]
    $self start $bytes
    $self open $bytes 1
}

# Opens a connection and asks for its first file.
Web instproc open {bytes is_last} {
    $self instvar index unclosed
    incr unclosed
    set connection [new Connection $index $self]
    $connection ask $bytes $is_last
    return $connection
}

# A retrieval of so many bytes begins.
Web instproc start bytes {
    $self set started [$::ns now]
    $self set missing $bytes
    $self set whole $bytes
}

Web instproc parallel {} {
    $self instvar files
    $self start [expr [join $files +]]
    $self open [lindex $files 0] 1
}

Web instproc pipelined {} {
    $self instvar files
    $self start [expr [join $files +]]
    $self open [lindex $files 0] 0
}

# The primary file in whole segments, the nearest number of at least one; then the inline ones as one.
Web instproc segment_filled {} {
    global SEGMENT
    $self instvar files
    set files [lassign $files primary]
    set segments [expr {max(1, int($primary / double($SEGMENT) + 0.5))}]
    set files [list [expr {$segments * $SEGMENT}] [expr [join $files +]]]
    $self pipelined
}

# An answer has come.
Web instproc received {connection bytes} {
    $self instvar files missing
    incr missing -$bytes
    set rest [lrange $files 1 end]
    switch $::option(strategy) {
        parallel {
            set files {}
            foreach inline $rest { $self open $inline 1 }
        }
        pipelined - segment-filled {
            set files $rest
            if {$files ne {}} { $connection ask [lindex $files 0] [expr {[llength $files] == 1}] }
        }
    }
    if {$missing == 0} { $self complete }
}

Web instproc complete {} {
    global ns totals is_drawn
    $self instvar started whole files
    set seconds [expr {[$ns now] - $started}]
    incr totals(bytes) $whole
    incr totals(retrievals)
    set totals(time) [expr {$totals(time) + $seconds}]
    if {!$is_drawn} { puts "retrieval $seconds" }
    set is_within [expr {$::option(strategy) eq "serial" && $files ne {}}]
    if {$is_within || $is_drawn} { $ns after [think] "$self next" }
}

# The next file or document, as soon as the last connection is closed: looked at every 0.1 s.
Web instproc next {} {
    $self instvar unclosed files
    if {$unclosed > 0} {
        $::ns after 0.1 "$self next"
    } elseif {$::option(strategy) eq "serial" && $files ne {}} {
        $self serial
    } else {
        $self visit
    }
}

Web instproc closed {} { $self instvar unclosed; incr unclosed -1 }

# --- FTP clients: 1 MB again and again

Class Ftp
Ftp instproc init index { $self set index $index }
Ftp instproc transfer {} {
    set connection [new Connection [$self set index] $self]
    $connection ask $::FTP_FILE 1
}
Ftp instproc received {connection bytes} {
    $self transfer
}
Ftp instproc closed {} { return }

# --- the run

proc finish {} {
    global bottleneck totals option ns connections
    set seconds [$ns now]
    set arrivals [$bottleneck set parrivals_]
    puts "rate [expr {$totals(time) > 0 ? $totals(bytes) / $totals(time) : 0}]"
    puts "utilisation [expr {[$bottleneck set bdepartures_] * 8 / (1.5e6 * $seconds)}]"
    puts "drops [expr {$arrivals > 0 ? double([$bottleneck set pdrops_]) / $arrivals : 0}]"
    puts "packets $arrivals"
    puts "retrievals $totals(retrievals)"
    puts "connections $connections"
    $ns flush-trace
    exit 0
}

# Within the first second, so that clients are not in step.
for {set index 0} {$index < $option(webs)} {incr index} {
    $ns at [expr {$is_drawn ? [$random uniform 0 1] : 0}] "[new Web $index] visit"
}
for {set index 0} {$index < $option(ftps)} {incr index} {
    $ns at [expr {[$random uniform 0 1]}] "[new Ftp $index] transfer"
}
$ns at $option(seconds) finish
$ns run
