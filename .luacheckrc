-- For what `scripts/embed-lua --joined` writes: a script with its parts. Names in capitals are constants of C headers:
-- embed-lua refuses those that it does not know.
std = "lua51"
read_globals = {"redis", "KEYS", "ARGV"}
-- 231, 241: parts serve several scripts, and set variables that some of these do not read.
ignore = {"113/[A-Z][A-Z0-9_]+", "231", "241"}
max_line_length = 120
