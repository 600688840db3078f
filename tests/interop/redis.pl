# A lock as users of Perl's Redis.pm write it, after redis.io's page, for clients.bash: redis.pl SOCKET...
use strict;
use warnings;
use Digest::SHA 'sha1_hex';
use Redis;
use Time::HiRes 'time';

sub if_ours { "if redis.call('GET', KEYS[1]) == ARGV[1] then return redis.call($_[0]) else return 0 end" }
my $remove = if_ours("'DEL', KEYS[1]");
my $prolong = if_ours("'PEXPIRE', KEYS[1], ARGV[2]");

my @nodes = map { Redis->new(sock => $_, encoding => undef) } @ARGV;
my ($key, $value);

# 20 bytes of /dev/urandom, unchanged
sub random_bytes {
	open my $random, '<:raw', '/dev/urandom' or die "/dev/urandom: $!";
	read($random, my $bytes, 20) == 20 or die "/dev/urandom: $!";
	return $bytes;
}

sub script {
	my ($node, $text, @words) = @_;
	my $reply = eval { $node->evalsha(sha1_hex($text), 1, @words) };
	return $reply unless $@;
	die $@ unless $@ =~ /NOSCRIPT/;
	return $node->eval($text, 1, @words);
}

# True if a majority of the nodes has done it, and there is time left.
sub by_majority {
	my ($ms, $ask) = @_;
	my $began = time;
	my $votes = grep { $ask->($_) } @nodes;
	my $left = $ms - (time() - $began) * 1000 - $ms / 100 - 2;
	return $votes > @nodes / 2 && $left > 0;
}

sub release {
	my ($key, $value) = @_;
	my $removed = grep { script($_, $remove, $key, $value) } @nodes;
	return $removed > @nodes / 2;
}

my %answer_to = (
	take => sub {
		my ($wanted, $ms) = @_;
		my $mine = random_bytes();
		if (by_majority($ms, sub { $_[0]->set($wanted, $mine, 'NX', 'PX', $ms) })) {
			($key, $value) = ($wanted, $mine);
			return 'held';
		}
		release($wanted, $mine);
		return 'refused';
	},
	extend => sub {
		my ($ms) = @_;
		return by_majority($ms, sub { script($_[0], $prolong, $key, $value, $ms) }) ? 'extended' : 'lost';
	},
	release => sub { release($key, $value) ? 'released' : 'lost' },
);

$| = 1;
while (my $line = <STDIN>) {
	my ($verb, @words) = split ' ', $line;
	my $answer = eval { $answer_to{$verb}->(@words) } // "failed: $@";
	chomp $answer;
	print "$answer\n";
}
