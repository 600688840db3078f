# A lock as users of Ruby's redis write it, after redis.io's page, for clients.bash: redis.rb SOCKET...
require "digest"
require "redis"
require "securerandom"

def if_ours(change)
  "if redis.call('GET', KEYS[1]) == ARGV[1] then return redis.call(#{change}) else return 0 end"
end
REMOVE = if_ours("'DEL', KEYS[1]")
PROLONG = if_ours("'PEXPIRE', KEYS[1], ARGV[2]")

class Lock
  def initialize(nodes, key)
    @nodes = nodes
    @key = key
    @value = SecureRandom.uuid
  end

  def take(ms)
    taken = by_majority(ms) { |node| node.set(@key, @value, nx: true, px: ms) }
    release unless taken
    taken
  end

  def extend_by(ms)
    by_majority(ms) { |node| script(node, PROLONG, @value, ms) == 1 }
  end

  def release
    @nodes.count { |node| script(node, REMOVE, @value) == 1 } > @nodes.size / 2
  end

  private

  # True if a majority of the nodes has done it, and there is time left.
  def by_majority(ms, &ask)
    began = now
    votes = @nodes.count(&ask)
    votes > @nodes.size / 2 && ms - (now - began) * 1000 - ms / 100.0 - 2 > 0
  end

  def now
    Process.clock_gettime(Process::CLOCK_MONOTONIC)
  end

  def script(node, text, *words)
    node.evalsha(Digest::SHA1.hexdigest(text), keys: [@key], argv: words)
  rescue Redis::CommandError => error
    raise unless error.message.start_with?("NOSCRIPT")
    node.eval(text, keys: [@key], argv: words)
  end
end

def answer(nodes, verb, *words)
  case verb
  when "take"
    wanted = Lock.new(nodes, words[0])
    return "refused" unless wanted.take(words[1].to_i)
    @lock = wanted
    "held"
  when "extend"
    @lock.extend_by(words[0].to_i) ? "extended" : "lost"
  else
    @lock.release ? "released" : "lost"
  end
end

$stdout.sync = true
nodes = ARGV.map { |path| Redis.new(path: path) }
while (line = $stdin.gets)
  begin
    puts answer(nodes, *line.split)
  rescue StandardError => error
    puts "failed: #{error.message}"
  end
end
