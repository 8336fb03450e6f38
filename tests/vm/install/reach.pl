#!/usr/bin/perl
# SPDX-License-Identifier: GPL-2.0-or-later
# reach.pl FILE: which of the UNIX sockets of FILE (as /proc/net/unix names them, one a line) this process can
# connect to. With perl-base alone, which is on every Debian system.
use strict;
use warnings;
use Socket;

open my $names, '<', $ARGV[0] or die "$ARGV[0]: $!\n";
while (my $name = <$names>) {
	chomp $name;
	(my $path = $name) =~ s/^@/\0/; # abstract
	next if length $path > 107;
	for my $type (SOCK_STREAM, SOCK_DGRAM, SOCK_SEQPACKET) {
		socket my $s, AF_UNIX, $type, 0 or next;
		connect $s, pack_sockaddr_un($path) or next;
		print "$name\n";
		last;
	}
}
print "end\n"; # it ran to its end
