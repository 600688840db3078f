# past.pl VALUE...: as tests/tools/past.c, in Perl.
my $now = time() * 1000;
for my $value (@ARGV) {
	print "number $value\n" unless $value > $now;
	print "int $value\n" unless int($value) > $now;
}
