#include "net/tls.h"

#include "base/duration.h"
#include "base/utf8.h"

#include <stdlib.h>

#ifdef WITHOUT_TLS

const char *tls_version(void)
{
	return "no (built with WITH_TLS=no)";
}

int tls_prepare(const struct tls_settings *s, const struct node *node, const struct file_wait *wait,
	struct err *e)
{
	(void)s, (void)wait;
	return err_set(e, ERR_TLS,
		"node '%.200s' requires TLS, but this redlock was built without TLS (WITH_TLS=no)",
		node->label);
}

bool tls_renewal_failed(struct err *e)
{
	(void)e;
	return false;
}

bool tls_key_is_exposed(const struct tls_settings *s)
{
	(void)s;
	return false;
}

usec tls_own_valid_until(void)
{
	return 0;
}

/* No code calls the functions below: tls_prepare() rejects each node that needs TLS. */

struct tls *tls_open(int fd, const struct node *node)
{
	(void)fd, (void)node;
	return NULL;
}

int tls_handshake(struct tls *t)
{
	(void)t;
	return 0;
}

ssize_t tls_receive(struct tls *t, void *buf, size_t size)
{
	(void)t, (void)buf, (void)size;
	return 0;
}

ssize_t tls_send(struct tls *t, const void *buf, size_t len)
{
	(void)t, (void)buf, (void)len;
	return 0;
}

short tls_wants(const struct tls *t)
{
	(void)t;
	return 0;
}

struct reply tls_failure(const struct tls *t)
{
	(void)t;
	return reply_absent(REASON_TLS, NULL);
}

usec tls_valid_until(const struct tls *t)
{
	(void)t;
	return 0;
}

void tls_close_notify(struct tls *t)
{
	(void)t;
}

void tls_free(struct tls *t)
{
	(void)t;
}

#else

#include <arpa/inet.h>
#include <dirent.h>
#include <dlfcn.h>
#include <errno.h>
#include <poll.h>
#include <pthread.h>
#include <stdio.h>
#include <string.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <unistd.h>

#if !__has_include(<openssl/ssl.h>)
#error "OpenSSL's headers are missing: install libssl-dev, or make WITH_TLS=no"
#endif
#include <openssl/err.h>
#include <openssl/ssl.h>
#include <openssl/x509v3.h>

#if OPENSSL_VERSION_MAJOR < 3
#error "OpenSSL 3 is needed; or make WITH_TLS=no"
#endif

/* ---- the library ---- */

/* The library to which these headers belong. */
#define STRING(x) #x
#define STRING_OF(x) STRING(x)

const char *tls_version(void)
{
	return "yes (OpenSSL " STRING_OF(OPENSSL_SHLIB_VERSION) ")";
}

#define LIBRARY "libssl.so." STRING_OF(OPENSSL_SHLIB_VERSION)

/* The functions that redlock uses from it, and from libcrypto, which is loaded with it. */
/* clang-format off */
#define FUNCTIONS(X) \
	X(OPENSSL_init_crypto) X(OPENSSL_init_ssl) X(TLS_client_method) \
	X(SSL_CTX_new) X(SSL_CTX_free) X(SSL_CTX_ctrl) X(SSL_CTX_set_options) X(SSL_CTX_set_verify) \
	X(SSL_CTX_set_cert_cb) \
	X(SSL_CTX_load_verify_locations) X(SSL_CTX_set_default_verify_dir) \
	X(X509_get_default_cert_dir) X(X509_get_default_cert_file) \
	X(SSL_CTX_get_cert_store) X(X509_STORE_add_cert) X(X509_STORE_add_crl) \
	X(SSL_CTX_use_certificate) X(SSL_CTX_use_PrivateKey) X(BIO_new_mem_buf) X(BIO_free) \
	X(PEM_X509_INFO_read_bio) X(PEM_read_bio_X509_AUX) X(PEM_read_bio_X509) \
	X(PEM_read_bio_PrivateKey) X(X509_INFO_free) X(X509_free) X(EVP_PKEY_free) \
	X(SSL_CTX_get0_certificate) X(OPENSSL_sk_num) X(OPENSSL_sk_value) X(OPENSSL_sk_pop_free) \
	X(SSL_new) X(SSL_free) X(SSL_ctrl) X(SSL_set_bio) X(SSL_set_ex_data) X(SSL_get_ex_data) \
	X(SSL_set1_host) X(SSL_set_hostflags) X(SSL_get0_param) X(SSL_connect) X(SSL_read) \
	X(SSL_write) X(SSL_shutdown) X(SSL_get_error) X(SSL_get_ex_data_X509_STORE_CTX_idx) \
	X(BIO_meth_new) X(BIO_meth_set_read) X(BIO_meth_set_write) X(BIO_meth_set_ctrl) \
	X(BIO_new) X(BIO_set_init) X(BIO_set_data) X(BIO_get_data) X(BIO_set_flags) \
	X(BIO_clear_flags) X(ERR_clear_error) X(ERR_peek_error) X(ERR_peek_last_error) \
	X(ERR_reason_error_string) \
	X(X509_VERIFY_PARAM_set1_ip_asc) X(X509_STORE_CTX_get_ex_data) \
	X(X509_STORE_CTX_get_error) X(X509_STORE_CTX_get_error_depth) \
	X(X509_STORE_CTX_get_current_cert) X(X509_verify_cert_error_string) \
	X(X509_get0_notBefore) X(X509_get0_notAfter) X(X509_get_ext_by_NID) \
	X(X509_get_issuer_name) X(X509_NAME_oneline) \
	X(ASN1_TIME_to_tm)
/* clang-format on */

struct functions {
#define X(name) __typeof__ (&(name))(name);
	FUNCTIONS(X)
#undef X
};

#ifdef STATIC

/* A static program cannot load a library, so OpenSSL is linked in. */
static const struct functions ssl = {
#define X(name) .name = (name),
	FUNCTIONS(X)
#undef X
};

/* Providers in openssl.cnf would have to be loaded, too, so ignore that file. */
#define INIT_OPTIONS (OPENSSL_INIT_NO_ATEXIT | OPENSSL_INIT_NO_LOAD_CONFIG)

static const char *load(void)
{
	return NULL;
}

#else

static struct functions ssl;

#define INIT_OPTIONS OPENSSL_INIT_NO_ATEXIT

static const char *load(void)
{
	static const char *const names[] = {
#define X(name) STRING_OF(name),
		FUNCTIONS(X)
#undef X
	};
	void **function = (void **)&ssl, *library = dlopen(LIBRARY, RTLD_LAZY | RTLD_LOCAL);

	for (size_t i = 0; library && i < sizeof(names) / sizeof(names[0]); i++) {
		function[i] = dlsym(library, names[i]);
		if (!function[i])
			return dlerror();
	}
	return library ? NULL : dlerror();
}

#endif

/* ---- state of all connections ---- */

/* Distinguishes the contents of a file: a file renewed in place has another time, one that was
 * swapped by rename another inode. All zero: there is no such file, or it is a pipe, which has its
 * content once. */
struct version {
	dev_t device;
	ino_t inode;
	off_t size;
	struct timespec modified, changed;
};

/* A file with certificates may have no more; those with all authorities of a system have 0.3 MB. */
#define PEM_MAX ((size_t)4 * 1024 * 1024)

enum { FILE_CACERT, FILE_CERT, FILE_KEY, FILES };

static struct {
	SSL_CTX *context;
	BIO_METHOD *wire;
	const struct tls_settings *settings;
	bool wanted_passphrase;

	pthread_mutex_t renewing; /* for the context and the fields below */
	char *path[FILES]; /* absolute, for the folder may change; NULL: not named */
	struct version first[FILES], version[FILES]; /* at the start; that was tried last */
	bool has_trust; /* the context has its authorities */
	bool has_failed; /* it could not be used, and no message has said so */
	struct err failure;
} common = {.renewing = PTHREAD_MUTEX_INITIALIZER};

struct tls {
	SSL *ssl;
	int fd;
	char name[NODE_HOST_MAX]; /* the name that its certificate must have */
	short wants;
	int error; /* errno of the socket; 0: none */
	bool is_at_end; /* the node has closed the socket */
	bool was_asked; /* the node asked for a certificate, and redlock has none */
	bool is_rejected;
	struct reply failure;
	usec valid_until;
};

/* OpenSSL must not ask for a passphrase: the terminal belongs to the command. */
static int refuse_passphrase(char *buf, int size, int is_new, void *data)
{
	(void)buf, (void)size, (void)is_new, (void)data;
	common.wanted_passphrase = true;
	return -1;
}

/* The file has other content than expected, or none. */
static bool is_wrong_content(unsigned long code)
{
	int reason = ERR_GET_REASON(code);

	return reason == PEM_R_NO_START_LINE || reason == ERR_R_UNSUPPORTED || code == 0;
}

static int bad_file(struct err *e, const char *option, const char *what, const char *path)
{
	unsigned long code = ssl.ERR_peek_error();
	const char *text = ssl.ERR_reason_error_string(code);
	char shown[200];

	utf8_escape(shown, sizeof(shown), path, strlen(path));
	if (common.wanted_passphrase) {
		err_set(e, ERR_TLS, "%s '%s' has a passphrase, which redlock does not support",
			option, shown);
		return err_hint(e, "'openssl pkey -in FILE -out NEW' writes a key without one");
	}
	if (ERR_GET_REASON(code) == X509_R_KEY_VALUES_MISMATCH)
		return err_set(e, ERR_TLS, "%s '%s' does not match the certificate of --cert",
			option, shown);
	if (is_wrong_content(code) || !text)
		return err_set(e, ERR_TLS, "%s '%s' has no %s in it (PEM)", option, shown, what);
	return err_set(e, ERR_TLS, "cannot use %s '%s': %s", option, shown, text);
}

static int unreadable(struct err *e, const char *option, const char *path, int error)
{
	char shown[200];

	return err_set(e, ERR_TLS, "cannot read %s '%s': %s", option,
		utf8_escape(shown, sizeof(shown), path, strlen(path)), file_reason(error));
}

/* Loads what a file contains; false with OpenSSL's error. */
typedef bool loader(SSL_CTX *c, BIO *in);

/*
 * OpenSSL would wait for a pipe without end, so it gets the text of the file, and never its name.
 * `wait`: for a pipe; NULL: the file must be a regular one. Returns an errno, or 0 with *loaded.
 */
static int load_file(
	SSL_CTX *c, const char *path, const struct file_wait *wait, loader *parse, bool *loaded)
{
	static char text[PEM_MAX];
	size_t len = 0;
	struct stat st;
	int error = file_read(
		path, wait ? FILE_ANY : FILE_REGULAR, wait, text, sizeof(text), &len, &st);
	BIO *in;

	ssl.ERR_clear_error();
	if (!error) {
		in = ssl.BIO_new_mem_buf(text, (int)len);
		*loaded = in && parse(c, in);
		ssl.BIO_free(in);
	}
	explicit_bzero(text, len); /* it may have a private key */
	return error;
}

static void free_info(void *info)
{
	ssl.X509_INFO_free(info);
}

/* Trusts each certificate in it, and takes each list of those that were revoked. */
static bool load_authorities(SSL_CTX *c, BIO *in)
{
	X509_STORE *store = ssl.SSL_CTX_get_cert_store(c);
	OPENSSL_STACK *all =
		(OPENSSL_STACK *)ssl.PEM_X509_INFO_read_bio(in, NULL, refuse_passphrase, NULL);
	bool added = true;
	int count = 0;

	for (int i = 0; added && i < ssl.OPENSSL_sk_num(all); i++) {
		const X509_INFO *info = ssl.OPENSSL_sk_value(all, i);

		if (info->x509)
			added = ssl.X509_STORE_add_cert(store, info->x509) == 1;
		if (info->crl)
			added = added && ssl.X509_STORE_add_crl(store, info->crl) == 1;
		count += info->x509 || info->crl;
	}
	ssl.OPENSSL_sk_pop_free(all, free_info);
	return added && count > 0;
}

/* Does the folder have authorities under their hashes, such as "0a1b2c3d.0"? */
static bool is_hashed(const char *folder)
{
	DIR *list = opendir(folder);
	const struct dirent *entry;
	bool found = false;

	while (list && !found && (entry = readdir(list)))
		found = strspn(entry->d_name, "0123456789abcdef") == 8 &&
			strcmp(entry->d_name + 8, ".0") == 0;
	if (list)
		closedir(list);
	return found;
}

static bool trust_file(SSL_CTX *c, const char *path)
{
	bool loaded;

	return load_file(c, path, NULL, load_authorities, &loaded) == 0 && loaded;
}

/*
 * Trusts the system's certificate authorities. OpenSSL's own places are right on the system for
 * which it was built; a static program also looks in the places of other distributions. A folder of
 * hashed names is preferred, because one file with all authorities takes 50 ms to read.
 */
static void trust_system(SSL_CTX *c)
{
	const char *named = getenv("SSL_CERT_FILE");
	const char *const folders[] = {
		ssl.X509_get_default_cert_dir(), "/etc/ssl/certs", "/etc/pki/tls/certs"};
	static const char *const files[] = {
		"/etc/ssl/certs/ca-certificates.crt", /* Debian, Alpine, Arch */
		"/etc/pki/tls/certs/ca-bundle.crt", /* Fedora, RHEL */
		"/etc/pki/ca-trust/extracted/pem/tls-ca-bundle.pem", /* RHEL, Fedora 43 */
		"/etc/ssl/ca-bundle.pem", /* openSUSE */
		"/etc/ssl/cert.pem", /* Alpine without ca-certificates */
	};

	if (named || getenv("SSL_CERT_DIR")) {
		ssl.SSL_CTX_set_default_verify_dir(c);
		(void)trust_file(c, named ? named : ssl.X509_get_default_cert_file());
		return;
	}
	for (size_t i = 0; i < sizeof(folders) / sizeof(folders[0]); i++)
		if (is_hashed(folders[i]) &&
			ssl.SSL_CTX_load_verify_locations(c, NULL, folders[i]) == 1)
			return;
	(void)trust_file(c, ssl.X509_get_default_cert_file());
	for (size_t i = 0; i < sizeof(files) / sizeof(files[0]); i++)
		if (trust_file(c, files[i]))
			return;
}

static bool load_chain(SSL_CTX *c, BIO *in)
{
	X509 *cert = ssl.PEM_read_bio_X509_AUX(in, NULL, refuse_passphrase, NULL);
	bool loaded = cert && ssl.SSL_CTX_use_certificate(c, cert) == 1;
	unsigned long code;

	ssl.X509_free(cert);
	while (loaded && (cert = ssl.PEM_read_bio_X509(in, NULL, refuse_passphrase, NULL))) {
		loaded = ssl.SSL_CTX_ctrl(c, SSL_CTRL_CHAIN_CERT, 0, cert) == 1;
		if (!loaded)
			ssl.X509_free(cert);
	}
	/* The end of the file is an error, too. */
	code = ssl.ERR_peek_last_error();
	return loaded && ERR_GET_LIB(code) == ERR_LIB_PEM &&
	       ERR_GET_REASON(code) == PEM_R_NO_START_LINE;
}

static bool load_key(SSL_CTX *c, BIO *in)
{
	EVP_PKEY *key = ssl.PEM_read_bio_PrivateKey(in, NULL, refuse_passphrase, NULL);
	bool loaded = key && ssl.SSL_CTX_use_PrivateKey(c, key) == 1;

	ssl.EVP_PKEY_free(key);
	return loaded;
}

static int load_files(
	SSL_CTX *c, const struct tls_settings *s, const struct file_wait *wait, struct err *e)
{
	const struct {
		const char *option, *what, *path;
		loader *load;
	} files[FILES] = {
		[FILE_CACERT] = {"--cacert", "certificate", s->cacert, load_authorities},
		[FILE_CERT] = {"--cert", "certificate", s->cert, load_chain},
		[FILE_KEY] = {"--cert-key", "private key", s->cert_key, load_key},
	};

	common.wanted_passphrase = false;
	for (int i = 0; i < FILES; i++) {
		bool loaded = false;
		int error = files[i].path
				    ? load_file(c, common.path[i], wait, files[i].load, &loaded)
				    : 0;

		if (error)
			return unreadable(e, files[i].option, files[i].path, error);
		if (files[i].path && !loaded)
			return bad_file(e, files[i].option, files[i].what, files[i].path);
	}
	return 0;
}

bool tls_key_is_exposed(const struct tls_settings *s)
{
	struct stat file;

	return s->cert_key && stat(s->cert_key, &file) == 0 && S_ISREG(file.st_mode) &&
	       (file.st_mode & S_IROTH);
}

/* ---- the socket for OpenSSL: with OpenSSL's own functions, SIGPIPE could kill redlock ---- */

static int count_wire(BIO *bio, ssize_t n, int direction)
{
	struct tls *t = ssl.BIO_get_data(bio);
	bool is_full = n < 0 && (errno == EAGAIN || errno == EWOULDBLOCK);

	ssl.BIO_clear_flags(bio, BIO_FLAGS_RWS | BIO_FLAGS_SHOULD_RETRY);
	if (is_full)
		ssl.BIO_set_flags(bio, direction | BIO_FLAGS_SHOULD_RETRY);
	else if (n < 0)
		t->error = errno;
	return (int)n;
}

static int read_wire(BIO *bio, char *buf, int size)
{
	struct tls *t = ssl.BIO_get_data(bio);
	ssize_t n;

	do
		n = recv(t->fd, buf, (size_t)size, MSG_DONTWAIT);
	while (n < 0 && errno == EINTR);
	t->is_at_end |= n == 0;
	return count_wire(bio, n, BIO_FLAGS_READ);
}

static int write_wire(BIO *bio, const char *buf, int len)
{
	const struct tls *t = ssl.BIO_get_data(bio);
	ssize_t n;

	do
		n = send(t->fd, buf, (size_t)len, MSG_NOSIGNAL | MSG_DONTWAIT);
	while (n < 0 && errno == EINTR);
	return count_wire(bio, n, BIO_FLAGS_WRITE);
}

static long control_wire(BIO *bio, int command, long number, void *pointer)
{
	const struct tls *t = ssl.BIO_get_data(bio);

	(void)number, (void)pointer;
	return command == BIO_CTRL_FLUSH || (command == BIO_CTRL_EOF && t->is_at_end);
}

static BIO_METHOD *make_wire(void)
{
	BIO_METHOD *m = ssl.BIO_meth_new(BIO_TYPE_SOURCE_SINK, "redlock");

	if (m) {
		ssl.BIO_meth_set_read(m, read_wire);
		ssl.BIO_meth_set_write(m, write_wire);
		ssl.BIO_meth_set_ctrl(m, control_wire);
	}
	return m;
}

/* ---- certificates ---- */

/* Returns a time since 1970; 0: unknown. */
static usec time_of(const ASN1_TIME *when)
{
	struct tm tm;

	return when && ssl.ASN1_TIME_to_tm(when, &tm) == 1 ? timegm(&tm) * USEC_SEC : 0;
}

static usec sooner(usec until, const X509 *cert)
{
	usec end = cert ? time_of(ssl.X509_get0_notAfter(cert)) : 0;

	return end && (!until || end < until) ? end : until;
}

usec tls_own_valid_until(void)
{
	const OPENSSL_STACK *chain = NULL;
	usec until;

	if (!common.context)
		return 0;
	until = sooner(0, ssl.SSL_CTX_get0_certificate(common.context));
	ssl.SSL_CTX_ctrl(common.context, SSL_CTRL_GET_CHAIN_CERTS, 0, &chain);
	for (int i = 0; i < ssl.OPENSSL_sk_num(chain); i++)
		until = sooner(until, ssl.OPENSSL_sk_value(chain, i));
	return until;
}

#define ISSUER_MAX 160

/* Writes the name of the authority, as "/CN=name". */
static const char *issuer_of(char dst[ISSUER_MAX], const X509 *cert)
{
	return ssl.X509_NAME_oneline(ssl.X509_get_issuer_name(cert), dst, ISSUER_MAX);
}

static void reject_certificate(struct tls *t, X509_STORE_CTX *store, const X509 *cert)
{
	int error = ssl.X509_STORE_CTX_get_error(store);
	const char *whose = ssl.X509_STORE_CTX_get_error_depth(store) == 0
				    ? "its certificate"
				    : "the certificate of its authority";
	char text[NODE_HOST_MAX + 80 + ISSUER_MAX], day[TIME_TEXT_MAX], issuer[ISSUER_MAX];

	switch (error) {
	case X509_V_ERR_CERT_HAS_EXPIRED:
		snprintf(text, sizeof(text), "%s expired on %.10s", whose,
			time_format(day, time_of(ssl.X509_get0_notAfter(cert)) / USEC_SEC));
		break;
	case X509_V_ERR_CERT_NOT_YET_VALID:
		snprintf(text, sizeof(text), "%s is not valid before %.10s", whose,
			time_format(day, time_of(ssl.X509_get0_notBefore(cert)) / USEC_SEC));
		break;
	case X509_V_ERR_HOSTNAME_MISMATCH:
	case X509_V_ERR_IP_ADDRESS_MISMATCH:
		if (ssl.X509_get_ext_by_NID(cert, NID_subject_alt_name, -1) < 0)
			snprintf(text, sizeof(text),
				"its certificate names no host: it has no subjectAltName");
		else
			snprintf(text, sizeof(text), "its certificate is not for %s", t->name);
		break;
	case X509_V_ERR_DEPTH_ZERO_SELF_SIGNED_CERT:
		snprintf(text, sizeof(text), "its certificate is self-signed and not trusted");
		break;
	case X509_V_ERR_SELF_SIGNED_CERT_IN_CHAIN:
		snprintf(text, sizeof(text), "its certificate comes from an unknown root, %s",
			issuer_of(issuer, cert));
		break;
	case X509_V_ERR_UNABLE_TO_GET_ISSUER_CERT:
	case X509_V_ERR_UNABLE_TO_GET_ISSUER_CERT_LOCALLY:
	case X509_V_ERR_UNABLE_TO_VERIFY_LEAF_SIGNATURE:
		snprintf(text, sizeof(text), "%s comes from an unknown authority, %s", whose,
			issuer_of(issuer, cert));
		break;
	default:
		snprintf(text, sizeof(text), "%s: %s", whose,
			ssl.X509_verify_cert_error_string(error));
		break;
	}
	t->is_rejected = true;
	t->failure = reply_absent(REASON_UNTRUSTED, text);
}

/* OpenSSL calls this for each certificate of the chain, once or several times. */
static int verify_certificate(int ok, X509_STORE_CTX *store)
{
	SSL *connection =
		ssl.X509_STORE_CTX_get_ex_data(store, ssl.SSL_get_ex_data_X509_STORE_CTX_idx());
	struct tls *t = ssl.SSL_get_ex_data(connection, 0);
	const X509 *cert = ssl.X509_STORE_CTX_get_current_cert(store);

	t->valid_until = sooner(t->valid_until, cert);
	if (ok || common.settings->insecure)
		return 1;
	reject_certificate(t, store, cert);
	return 0;
}

/* The node asks for a client certificate and redlock has none; the node may continue without it. */
static int note_certificate_request(SSL *connection, void *data)
{
	struct tls *t = ssl.SSL_get_ex_data(connection, 0);

	(void)data;
	t->was_asked = true;
	return 1;
}

/* ---- loading ---- */

/* Makes a context from the files, and puts it in place of the one before, which lasts as long as
 * its connections. */
static int make_context(const struct tls_settings *s, const struct file_wait *wait, struct err *e)
{
	SSL_CTX *c = ssl.SSL_CTX_new(ssl.TLS_client_method());

	if (!common.wire)
		common.wire = make_wire();
	if (!c || !common.wire)
		return err_set(e, ERR_SYSTEM, "cannot create a TLS context: OpenSSL failed");
	/* Set the minimum only if the system's configuration is not stricter. */
	if (ssl.SSL_CTX_ctrl(c, SSL_CTRL_GET_MIN_PROTO_VERSION, 0, NULL) < TLS1_2_VERSION)
		ssl.SSL_CTX_ctrl(c, SSL_CTRL_SET_MIN_PROTO_VERSION, TLS1_2_VERSION, NULL);
	/* Replies contain their length, so a connection that ends without close_notify is an
	 * ordinary close. */
	ssl.SSL_CTX_set_options(c, SSL_OP_NO_RENEGOTIATION | SSL_OP_IGNORE_UNEXPECTED_EOF);
	ssl.SSL_CTX_ctrl(c, SSL_CTRL_MODE,
		SSL_MODE_ENABLE_PARTIAL_WRITE | SSL_MODE_ACCEPT_MOVING_WRITE_BUFFER, NULL);
	/* A node that sends much data without a reply must not keep redlock from looking at the
	 * clock. */
	ssl.SSL_CTX_ctrl(c, SSL_CTRL_CLEAR_MODE, SSL_MODE_AUTO_RETRY, NULL);
	ssl.SSL_CTX_set_verify(c, SSL_VERIFY_PEER, verify_certificate);
	if (!s->cert)
		ssl.SSL_CTX_set_cert_cb(c, note_certificate_request, NULL);
	if (load_files(c, s, wait, e) < 0) {
		ssl.SSL_CTX_free(c);
		return -1;
	}
	if (common.context)
		ssl.SSL_CTX_free(common.context);
	common.context = c;
	common.has_trust = s->cacert != NULL;
	return 0;
}

static char *absolute(const char *path)
{
	char *folder, *whole = NULL;

	if (!path)
		return NULL;
	folder = *path == '/' ? NULL : getcwd(NULL, 0);
	if (!folder)
		return strdup(path);
	if (asprintf(&whole, "%s/%s", folder, path) < 0)
		whole = NULL;
	free(folder);
	return whole;
}

static void read_versions(struct version version[FILES])
{
	struct stat file;

	memset(version, 0, FILES * sizeof(version[0]));
	for (int i = 0; i < FILES; i++)
		if (common.path[i] && stat(common.path[i], &file) == 0 && S_ISREG(file.st_mode)) {
			version[i].device = file.st_dev;
			version[i].inode = file.st_ino;
			version[i].size = file.st_size;
			version[i].modified = file.st_mtim;
			version[i].changed = file.st_ctim;
		}
}

/* A file is a pipe: it cannot be read again, and so none is. */
static bool has_pipe(void)
{
	static const struct version none;

	for (int i = 0; i < FILES; i++)
		if (common.path[i] && memcmp(&common.first[i], &none, sizeof(none)) == 0)
			return true;
	return false;
}

/* Uses the files as they are now, if they have changed and can be used. */
static void renew(void)
{
	struct version now[FILES];

	read_versions(now);
	if (memcmp(now, common.version, sizeof(now)) == 0 || has_pipe())
		return;
	memcpy(common.version, now, sizeof(now));
	common.has_failed = make_context(common.settings, NULL, &common.failure) < 0;
	ssl.ERR_clear_error();
}

/* One file with all the system's authorities takes 20 ms to read: not before a node has accepted a
 * connection. */
static void trust(void)
{
	if (!common.has_trust)
		trust_system(common.context);
	common.has_trust = true;
}

bool tls_renewal_failed(struct err *e)
{
	bool has_failed;

	pthread_mutex_lock(&common.renewing);
	has_failed = common.has_failed;
	common.has_failed = false;
	if (has_failed)
		*e = common.failure;
	pthread_mutex_unlock(&common.renewing);
	return has_failed;
}

int tls_prepare(const struct tls_settings *s, const struct node *node, const struct file_wait *wait,
	struct err *e)
{
	const char *why = load();

	if (why) {
		err_set(e, ERR_TLS, "node '%.200s' requires TLS, but OpenSSL cannot be loaded: %s",
			node->label, why);
		return err_hint(e, "install OpenSSL %d (Debian: libssl3)", OPENSSL_SHLIB_VERSION);
	}
	/* OpenSSL must not run code when a process of redlock exits, because there are threads and
	 * forked children. */
	ssl.OPENSSL_init_crypto(INIT_OPTIONS, NULL);
	ssl.OPENSSL_init_ssl(0, NULL);
	common.settings = s;
	common.path[FILE_CACERT] = absolute(s->cacert);
	common.path[FILE_CERT] = absolute(s->cert);
	common.path[FILE_KEY] = absolute(s->cert_key);
	read_versions(common.version);
	memcpy(common.first, common.version, sizeof(common.first));
	return make_context(s, wait, e);
}

/* ---- one connection ---- */

/* Sets the name as certificates contain it: without a zone, and without a dot at its end. */
static void set_name(struct tls *t, const struct node *node)
{
	const char *name = common.settings->sni ? common.settings->sni : node->host;
	size_t len = strcspn(name, "%");

	if (len > 1 && name[len - 1] == '.')
		len--;
	snprintf(t->name, sizeof(t->name), "%.*s", (int)len, name);
}

static bool expect_name(struct tls *t)
{
	struct in6_addr address;

	if (inet_pton(AF_INET, t->name, &address) == 1 ||
		inet_pton(AF_INET6, t->name, &address) == 1)
		return ssl.X509_VERIFY_PARAM_set1_ip_asc(ssl.SSL_get0_param(t->ssl), t->name) == 1;
	ssl.SSL_set_hostflags(
		t->ssl, X509_CHECK_FLAG_NO_PARTIAL_WILDCARDS | X509_CHECK_FLAG_NEVER_CHECK_SUBJECT);
	return ssl.SSL_ctrl(t->ssl, SSL_CTRL_SET_TLSEXT_HOSTNAME, TLSEXT_NAMETYPE_host_name,
		       t->name) == 1 &&
	       ssl.SSL_set1_host(t->ssl, t->name) == 1;
}

struct tls *tls_open(int fd, const struct node *node)
{
	struct tls *t = calloc(1, sizeof(*t));
	BIO *wire;

	if (!t)
		return NULL;
	t->fd = fd;
	t->failure = reply_absent(REASON_CLOSED, NULL);
	set_name(t, node);
	pthread_mutex_lock(&common.renewing);
	renew();
	trust();
	t->ssl = ssl.SSL_new(common.context);
	pthread_mutex_unlock(&common.renewing);
	wire = t->ssl ? ssl.BIO_new(common.wire) : NULL;
	if (!wire) {
		tls_free(t);
		return NULL;
	}
	ssl.BIO_set_data(wire, t);
	ssl.BIO_set_init(wire, 1);
	ssl.SSL_set_bio(t->ssl, wire, wire);
	if (ssl.SSL_set_ex_data(t->ssl, 0, t) != 1 || !expect_name(t)) {
		tls_free(t);
		return NULL;
	}
	return t;
}

void tls_free(struct tls *t)
{
	if (!t)
		return;
	ssl.SSL_free(t->ssl);
	free(t);
}

/* Alerts of the protocol that are about the client certificate. */
static bool is_about_our_certificate(int reason)
{
	switch (reason) {
	case SSL_R_TLSV13_ALERT_CERTIFICATE_REQUIRED:
	case SSL_R_SSLV3_ALERT_BAD_CERTIFICATE:
	case SSL_R_SSLV3_ALERT_CERTIFICATE_EXPIRED:
	case SSL_R_SSLV3_ALERT_CERTIFICATE_REVOKED:
	case SSL_R_SSLV3_ALERT_CERTIFICATE_UNKNOWN:
	case SSL_R_SSLV3_ALERT_UNSUPPORTED_CERTIFICATE:
	case SSL_R_TLSV1_ALERT_ACCESS_DENIED:
	case SSL_R_TLSV1_ALERT_UNKNOWN_CA:
		return true;
	default:
		return false;
	}
}

static void classify_failure(struct tls *t)
{
	unsigned long code = ssl.ERR_peek_error();
	const char *text = ssl.ERR_reason_error_string(code);
	const char *alert = text ? strstr(text, "alert ") : NULL;
	int reason = ERR_GET_REASON(code);

	if (t->is_rejected)
		return;
	/* TLS 1.2 has no alert for a missing certificate. */
	if (is_about_our_certificate(reason) ||
		(t->was_asked && reason == SSL_R_SSLV3_ALERT_HANDSHAKE_FAILURE))
		t->failure = reply_absent(REASON_CLIENT_CERTIFICATE,
			common.settings->cert && alert ? alert + strlen("alert ") : NULL);
	else if (reason == SSL_R_WRONG_VERSION_NUMBER || reason == SSL_R_HTTP_REQUEST)
		t->failure = reply_absent(REASON_NOT_TLS, NULL);
	else
		t->failure = reply_absent(REASON_TLS, text);
}

static ssize_t outcome(struct tls *t, int rc)
{
	switch (ssl.SSL_get_error(t->ssl, rc)) {
	case SSL_ERROR_NONE:
		return rc;
	case SSL_ERROR_WANT_READ:
		t->wants = POLLIN;
		errno = EAGAIN;
		return -1;
	case SSL_ERROR_WANT_WRITE:
		t->wants = POLLOUT;
		errno = EAGAIN;
		return -1;
	case SSL_ERROR_ZERO_RETURN:
		return 0;
	case SSL_ERROR_SYSCALL:
		errno = t->error;
		return t->error ? -1 : 0;
	default:
		classify_failure(t);
		errno = EPROTO;
		return -1;
	}
}

int tls_handshake(struct tls *t)
{
	ssl.ERR_clear_error();
	return (int)outcome(t, ssl.SSL_connect(t->ssl));
}

/* A record has at most 16 KB, so a read of that size leaves no data in OpenSSL that poll(2) would
 * not see. */
ssize_t tls_receive(struct tls *t, void *buf, size_t size)
{
	ssl.ERR_clear_error();
	return outcome(t, ssl.SSL_read(t->ssl, buf, (int)size));
}

ssize_t tls_send(struct tls *t, const void *buf, size_t len)
{
	ssl.ERR_clear_error();
	return outcome(t, ssl.SSL_write(t->ssl, buf, (int)len));
}

short tls_wants(const struct tls *t)
{
	return t->wants;
}

struct reply tls_failure(const struct tls *t)
{
	return t->failure;
}

usec tls_valid_until(const struct tls *t)
{
	return t->valid_until;
}

void tls_close_notify(struct tls *t)
{
	ssl.ERR_clear_error();
	(void)ssl.SSL_shutdown(t->ssl);
	ssl.ERR_clear_error();
}

#endif
