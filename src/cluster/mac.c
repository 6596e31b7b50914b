/* SPDX-License-Identifier: MIT */
#include "cluster/mac.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

#ifdef HAVE_LIBCRYPTO
#include <dlfcn.h>
#include <openssl/evp.h>
#include <openssl/hmac.h>
#endif

#include "cluster/secret.h"

/* No other node makes this one: the message is refused. */
static void sign_wrongly(unsigned char ret[ENVELOPE_MAC])
{
	if (secret_random(ret, ENVELOPE_MAC) < 0)
		memset(ret, 0xff, ENVELOPE_MAC);
}

#ifdef HAVE_LIBCRYPTO

#define TAG_BYTES 16
#define NONCE_BYTES 12

#if OPENSSL_VERSION_NUMBER >= 0x30000000L
#define LIBRARY "libcrypto.so.3"
#else
#define LIBRARY "libcrypto.so.1.1"
#endif

/* Other commands would load its 4 MB for nothing. Written by the first mac_open(). */
static struct {
	void *library;
	__typeof__(&HMAC) hmac;
	__typeof__(&EVP_sha256) sha256;
	__typeof__(&EVP_Digest) digest;
	__typeof__(&EVP_aes_256_gcm) aes_256_gcm;
	__typeof__(&EVP_CIPHER_CTX_new) context_new;
	__typeof__(&EVP_CIPHER_CTX_free) context_free;
	__typeof__(&EVP_CIPHER_CTX_ctrl) context_ctrl;
	__typeof__(&EVP_EncryptInit_ex) init;
	__typeof__(&EVP_EncryptUpdate) update;
	__typeof__(&EVP_EncryptFinal_ex) final;
} crypto;

int mac_open(struct err *e)
{
	const struct {
		const char *name;
		void **to;
	} functions[] = {
		{ "HMAC", (void **)&crypto.hmac },
		{ "EVP_sha256", (void **)&crypto.sha256 },
		{ "EVP_Digest", (void **)&crypto.digest },
		{ "EVP_aes_256_gcm", (void **)&crypto.aes_256_gcm },
		{ "EVP_CIPHER_CTX_new", (void **)&crypto.context_new },
		{ "EVP_CIPHER_CTX_free", (void **)&crypto.context_free },
		{ "EVP_CIPHER_CTX_ctrl", (void **)&crypto.context_ctrl },
		{ "EVP_EncryptInit_ex", (void **)&crypto.init },
		{ "EVP_EncryptUpdate", (void **)&crypto.update },
		{ "EVP_EncryptFinal_ex", (void **)&crypto.final },
	};
	void *library;

	if (crypto.library)
		return 0;
	library = dlopen(LIBRARY, RTLD_NOW | RTLD_LOCAL);
	if (!library)
		return err_set(e, -ENOTSUP, "no libcrypto here: %s", dlerror());
	for (size_t i = 0; i < ARRAY_LEN(functions); i++) {
		*functions[i].to = dlsym(library, functions[i].name);
		if (!*functions[i].to) {
			err_set(e, -ENOTSUP, "libcrypto lacks %s", functions[i].name);
			dlclose(library);
			return e->code;
		}
	}
	crypto.library = library;
	return 0;
}

static void sign_hmac(void *self, const void *bytes, size_t len, unsigned char ret[ENVELOPE_MAC])
{
	const struct hmac_key *key = self;

	if (!crypto.hmac(crypto.sha256(), key->bytes, sizeof(key->bytes), bytes, len, ret, NULL))
		sign_wrongly(ret);
}

int mac_digest(const void *bytes, size_t len, unsigned char ret[WIRE_DIGEST])
{
	return crypto.digest(bytes, len, ret, NULL, crypto.sha256(), NULL) == 1 ? 0 : -EIO;
}

/* It is a context of libcrypto. */
struct gmac *gmac_new(const unsigned char key[ENVELOPE_MAC])
{
	EVP_CIPHER_CTX *context = crypto.context_new();

	if (context && crypto.init(context, crypto.aes_256_gcm(), NULL, key, NULL) == 1)
		return (struct gmac *)context;
	crypto.context_free(context);
	return NULL;
}

void gmac_free(struct gmac *g)
{
	if (g)
		crypto.context_free((EVP_CIPHER_CTX *)g);
}

static void sign_gmac(void *self, const void *bytes, size_t len, unsigned char ret[ENVELOPE_MAC])
{
	const unsigned char *envelope = bytes;
	unsigned char nonce[NONCE_BYTES], none[TAG_BYTES];
	EVP_CIPHER_CTX *context = self;
	int out;

	memcpy(nonce, envelope + ENVELOPE_SENDER, 4);
	memcpy(nonce + 4, envelope + ENVELOPE_SEQUENCE, 8);
	memset(ret, 0, ENVELOPE_MAC);
	if (crypto.init(context, NULL, NULL, NULL, nonce) != 1 ||
	    crypto.update(context, NULL, &out, envelope, (int)len) != 1 ||
	    crypto.final(context, none, &out) != 1 ||
	    crypto.context_ctrl(context, EVP_CTRL_AEAD_GET_TAG, TAG_BYTES, ret) != 1)
		sign_wrongly(ret);
}

#else

int mac_open(struct err *e)
{
	return err_set(e, -ENOTSUP, "built without libcrypto: nodes cannot prove the job's secret");
}

/* What follows is not reached: mac_open() fails. */

static void sign_hmac(void *self, const void *bytes, size_t len, unsigned char ret[ENVELOPE_MAC])
{
	(void)self;
	(void)bytes;
	(void)len;
	sign_wrongly(ret);
}

static void sign_gmac(void *self, const void *bytes, size_t len, unsigned char ret[ENVELOPE_MAC])
{
	sign_hmac(self, bytes, len, ret);
}

int mac_digest(const void *bytes, size_t len, unsigned char ret[WIRE_DIGEST])
{
	(void)bytes;
	(void)len;
	(void)ret;
	return -EIO;
}

struct gmac *gmac_new(const unsigned char key[ENVELOPE_MAC])
{
	(void)key;
	return NULL;
}

void gmac_free(struct gmac *g)
{
	(void)g;
}

#endif

struct envelope_mac hmac_mac(const struct hmac_key *key)
{
	union {
		const struct hmac_key *from;
		void *to;
	} self = { .from = key };

	return (struct envelope_mac){ sign_hmac, self.to };
}

struct envelope_mac gmac_mac(struct gmac *g)
{
	return (struct envelope_mac){ sign_gmac, g };
}
