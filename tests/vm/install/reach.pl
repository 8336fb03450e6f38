#!/usr/bin/perl
# SPDX-License-Identifier: GPL-2.0-or-later
# reach.pl FILE: prints to which of the UNIX sockets in FILE (named as in /proc/net/unix, one per line) this process can
# connect. It needs only perl-base, which every Debian system has.
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
print "end\n"; # it was not interrupted
