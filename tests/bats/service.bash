# A service manager, as far as sd_notify(3) needs it.

# service_manager ADDRESS: receives as systemd does: each datagram of one process is a line of $T/notes, "PID: lines".
service_manager() {
	rm -f "$T/listens" "$T/notes"
	python3 - "$1" "$T" 3>&- > "$T/manager" 2>&1 <<- 'END' &
		import socket, struct, sys
		address, folder = sys.argv[1:]
		s = socket.socket(socket.AF_UNIX, socket.SOCK_DGRAM)
		s.setsockopt(socket.SOL_SOCKET, socket.SO_PASSCRED, 1)
		s.bind("\0" + address[1:] if address[0] == "@" else address)
		open(folder + "/listens", "w").close()
		while True:
		    data, control, *_ = s.recvmsg(65536, 4096)
		    pid = struct.unpack("3i", control[0][2][:12])[0]
		    with open(folder + "/notes", "a") as f:
		        print(f"{pid}: " + data.decode().strip().replace("\n", " | "), file=f)
	END
	also_end $!
	unset SYSTEMD_EXEC_PID # of a service that the tests run in
	export NOTIFY_SOCKET=$1
	eventually test -e "$T/listens"
}
notes_are() { is_like "$(cat "$T/notes")" "$(printf '%s\n' "$@")"; }
