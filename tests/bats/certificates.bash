# Certificates for a bats file, in the folder $C. The order of calls: begin_authorities; authority NAME; certificate
# NAME SAN, which the authority $CA signs.

# begin_authorities: the settings that all authorities of this file share.
begin_authorities() {
	: > "$C/index"
	cat > "$C/ca.cnf" <<- END
		[ca]
		default_ca = own
		[own]
		database = $C/index
		new_certs_dir = $C
		rand_serial = yes
		default_md = sha256
		copy_extensions = copy
		unique_subject = no
		policy = names
		[names]
		commonName = supplied
	END
}

# authority NAME: $C/NAME.pem, and its key.
authority() {
	openssl req -x509 -newkey ec -pkeyopt ec_paramgen_curve:P-256 -nodes -days 30 -subj "/CN=$1" \
		-keyout "$C/$1.key" -out "$C/$1.pem" 2> "$C/log"
}

# certificate NAME SAN [openssl ca options...]: $C/NAME.pem and its key, from the authority $CA.
certificate() {
	openssl req -newkey ec -pkeyopt ec_paramgen_curve:P-256 -nodes -subj "/CN=$1" \
		-addext "subjectAltName=$2" -keyout "$C/$1.key" -out "$C/$1.csr" 2> "$C/log"
	openssl ca -batch -notext -config "$C/ca.cnf" -cert "$C/$CA.pem" -keyfile "$C/$CA.key" \
		-in "$C/$1.csr" -out "$C/$1.pem" -days 30 "${@:3}" 2> "$C/log"
}
