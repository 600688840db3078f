# past.rb VALUE...: as tests/tools/past.c, in Ruby.
now = Time.now.to_f * 1000
ARGV.each do |value|
  { to_i: value.to_i, to_f: value.to_f }.each { |name, time| puts "#{name} #{value}" unless time > now }
end
