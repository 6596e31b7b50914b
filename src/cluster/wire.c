/* SPDX-License-Identifier: MIT */
#include "cluster/wire.h"

#include <assert.h>
#include <errno.h>
#include <string.h>

#include "base/macros.h"

enum { FLAG_WANTS_ALIVE = 1, FLAG_FROM_STORAGE = 2, FLAG_HAS_ATTR = 1 };
enum { BODY_NONE, BODY_HERE, BODY_REMOTE };

#define MAX_NAME 255
#define MAX_VALUE (64u << 10)
#define MAX_ERROR 4095 /* Source: linux/err.h, MAX_ERRNO */

static void put_identity(struct buf *b, const struct file_identity *i)
{
	buf_put_u64(b, i->fs);
	buf_put_u64(b, i->ino);
	buf_put_u64(b, (uint64_t)i->ctime_ns);
	buf_put_u64(b, i->size);
}

static struct file_identity read_identity(struct cursor *c)
{
	struct file_identity i;

	i.fs = cursor_u64(c);
	i.ino = cursor_u64(c);
	i.ctime_ns = (int64_t)cursor_u64(c);
	i.size = cursor_u64(c);
	return i;
}

static void put_attr(struct buf *b, const struct file_attr *a)
{
	put_identity(b, &a->identity);
	buf_put_u32(b, a->mode);
	buf_put_u32(b, a->links);
	buf_put_u32(b, a->uid);
	buf_put_u32(b, a->gid);
	buf_put_u64(b, a->rdev);
	buf_put_u64(b, a->blocks);
	buf_put_u32(b, a->block_size);
	buf_put_u64(b, (uint64_t)a->mtime_ns);
	buf_put_u64(b, (uint64_t)a->atime_ns);
}

static struct file_attr read_attr(struct cursor *c)
{
	struct file_attr a;

	a.identity = read_identity(c);
	a.mode = cursor_u32(c);
	a.links = cursor_u32(c);
	a.uid = cursor_u32(c);
	a.gid = cursor_u32(c);
	a.rdev = cursor_u64(c);
	a.blocks = cursor_u64(c);
	a.block_size = cursor_u32(c);
	a.mtime_ns = (int64_t)cursor_u64(c);
	a.atime_ns = (int64_t)cursor_u64(c);
	return a;
}

static void put_request(struct buf *b, const struct wire_message *m)
{
	assert(m->key.path.len <= WIRE_MAX_PATH && m->max_age_ns >= 0);
	buf_put_u64(b, m->id);
	buf_put_byte(b, (unsigned char)((m->wants_alive ? FLAG_WANTS_ALIVE : 0) |
					(m->from_storage ? FLAG_FROM_STORAGE : 0)));
	buf_put_byte(b, (unsigned char)m->key.op);
	buf_put_u64(b, (uint64_t)m->max_age_ns);
	buf_put_u32(b, (uint32_t)m->key.path.len);
	buf_put(b, m->key.path.ptr, m->key.path.len);
	if (m->key.op == WIRE_CHUNK) {
		buf_put_u32(b, m->key.chunk);
		put_identity(b, &m->key.identity);
	}
}

static void put_body(struct buf *b, const struct wire_body *body)
{
	assert(body->len <= WIRE_MAX_BODY);
	if (!body->is_remote && !body->len) {
		buf_put_byte(b, BODY_NONE);
		return;
	}
	buf_put_byte(b, body->is_remote ? BODY_REMOTE : BODY_HERE);
	buf_put_u32(b, body->len);
	if (body->is_remote) {
		buf_put_u64(b, body->address);
		buf_put_u64(b, body->memory_key);
		buf_put(b, body->digest, sizeof body->digest);
	} else {
		buf_put(b, body->bytes, body->len);
	}
}

static void put_reply(struct buf *b, const struct wire_message *m)
{
	assert(m->error >= 0 && m->error <= MAX_ERROR && m->age_ns >= 0 && m->held_ns >= 0);
	buf_put_u64(b, m->id);
	buf_put_byte(b, (unsigned char)m->verdict);
	buf_put_u32(b, (uint32_t)m->error);
	buf_put_byte(b, (unsigned char)m->failed.count);
	for (uint32_t i = 0; i < m->failed.count; i++)
		buf_put_u32(b, m->failed.ranks[i]);
	buf_put_u64(b, (uint64_t)m->age_ns);
	buf_put_u64(b, (uint64_t)m->held_ns);
	buf_put_byte(b, m->has_attr ? FLAG_HAS_ATTR : 0);
	if (m->has_attr)
		put_attr(b, &m->attr);
	else
		put_identity(b, &m->attr.identity);
	put_body(b, &m->body);
}

void wire_put_message(struct buf *b, const struct wire_message *m)
{
	buf_put_byte(b, (unsigned char)m->type);
	switch (m->type) {
	case WIRE_HELLO:
		assert(m->endpoint.len <= WIRE_MAX_ENDPOINT);
		buf_put(b, m->nonce_a, sizeof m->nonce_a);
		buf_put_byte(b, (unsigned char)m->endpoint.len);
		buf_put(b, m->endpoint.ptr, m->endpoint.len);
		break;
	case WIRE_CHALLENGE:
	case WIRE_PROOF:
		buf_put(b, m->nonce_a, sizeof m->nonce_a);
		buf_put(b, m->nonce_b, sizeof m->nonce_b);
		break;
	case WIRE_REQUEST:
		put_request(b, m);
		break;
	case WIRE_REPLY:
		put_reply(b, m);
		break;
	case WIRE_ALIVE:
		buf_put_byte(b, m->wants_alive ? FLAG_WANTS_ALIVE : 0);
		break;
	case WIRE_GOODBYE:
		break;
	case WIRE_TAKEN:
		buf_put_u64(b, m->id);
		break;
	}
}

static bool has_nul(struct str s)
{
	return s.len && memchr(s.ptr, '\0', s.len);
}

static void read_nonce(struct cursor *c, unsigned char nonce[WIRE_NONCE])
{
	const unsigned char *bytes = cursor_bytes(c, WIRE_NONCE);

	if (bytes)
		memcpy(nonce, bytes, WIRE_NONCE);
}

/* A number below limit; a larger one is bad. */
static uint64_t bounded(struct cursor *c, uint64_t value, uint64_t limit)
{
	if (value < limit)
		return value;
	c->bad = true;
	return 0;
}

static int64_t read_duration(struct cursor *c)
{
	return (int64_t)bounded(c, cursor_u64(c), UINT64_C(1) << 63);
}

static struct str read_text(struct cursor *c, size_t len)
{
	struct str s = { (const char *)cursor_bytes(c, len), len };

	return s.ptr ? s : (struct str){ "", 0 };
}

static void read_request(struct cursor *c, struct wire_message *m)
{
	uint64_t flags;

	m->id = cursor_u64(c);
	flags = bounded(c, cursor_u8(c), (FLAG_WANTS_ALIVE | FLAG_FROM_STORAGE) + 1);
	m->wants_alive = flags & FLAG_WANTS_ALIVE;
	m->from_storage = flags & FLAG_FROM_STORAGE;
	m->key.op = (enum wire_op)bounded(c, cursor_u8(c), WIRE_XATTRS + 1);
	if (m->key.op < WIRE_GETATTR)
		c->bad = true;
	m->max_age_ns = read_duration(c);
	m->key.path = read_text(c, bounded(c, cursor_u32(c), WIRE_MAX_PATH + 1));
	if (has_nul(m->key.path))
		c->bad = true;
	if (m->key.op == WIRE_CHUNK) {
		m->key.chunk = cursor_u32(c);
		m->key.identity = read_identity(c);
	}
}

static void read_body(struct cursor *c, struct wire_body *body)
{
	uint64_t kind = bounded(c, cursor_u8(c), BODY_REMOTE + 1);
	const unsigned char *digest;

	if (kind == BODY_NONE)
		return;
	body->is_remote = kind == BODY_REMOTE;
	body->len = (uint32_t)bounded(c, cursor_u32(c), WIRE_MAX_BODY + 1);
	if (!body->is_remote) {
		if (!body->len)
			c->bad = true; /* that is BODY_NONE */
		body->bytes = cursor_bytes(c, body->len);
		return;
	}
	body->address = cursor_u64(c);
	body->memory_key = cursor_u64(c);
	digest = cursor_bytes(c, WIRE_DIGEST);
	if (digest)
		memcpy(body->digest, digest, WIRE_DIGEST);
}

static void read_ranks(struct cursor *c, struct wire_ranks *r)
{
	r->count = (uint32_t)bounded(c, cursor_u8(c), WIRE_MAX_RANKS + 1);
	for (uint32_t i = 0; i < r->count; i++) {
		r->ranks[i] = cursor_u32(c);
		if (i && r->ranks[i] <= r->ranks[i - 1])
			c->bad = true;
	}
}

static void read_reply(struct cursor *c, struct wire_message *m)
{
	m->id = cursor_u64(c);
	m->verdict = (enum wire_verdict)bounded(c, cursor_u8(c), WIRE_FAILED + 1);
	m->error = (int)bounded(c, cursor_u32(c), MAX_ERROR + 1);
	read_ranks(c, &m->failed);
	m->age_ns = read_duration(c);
	m->held_ns = read_duration(c);
	m->has_attr = bounded(c, cursor_u8(c), FLAG_HAS_ATTR + 1);
	if (m->has_attr)
		m->attr = read_attr(c);
	else
		m->attr.identity = read_identity(c);
	read_body(c, &m->body);
	if (m->verdict != WIRE_ANSWERED && !m->error)
		c->bad = true;
}

int wire_read_message(const void *bytes, size_t len, struct wire_message *ret, struct err *e)
{
	struct cursor c = cursor_make(bytes, len);
	struct wire_message m = { .type = (enum wire_type)cursor_u8(&c) };

	switch (m.type) {
	case WIRE_HELLO:
		read_nonce(&c, m.nonce_a);
		m.endpoint = read_text(&c, bounded(&c, cursor_u8(&c), WIRE_MAX_ENDPOINT + 1));
		c.bad = c.bad || has_nul(m.endpoint);
		break;
	case WIRE_CHALLENGE:
	case WIRE_PROOF:
		read_nonce(&c, m.nonce_a);
		read_nonce(&c, m.nonce_b);
		break;
	case WIRE_REQUEST:
		read_request(&c, &m);
		break;
	case WIRE_REPLY:
		read_reply(&c, &m);
		break;
	case WIRE_ALIVE:
		m.wants_alive = bounded(&c, cursor_u8(&c), FLAG_WANTS_ALIVE + 1);
		break;
	case WIRE_GOODBYE:
		break;
	case WIRE_TAKEN:
		m.id = cursor_u64(&c);
		break;
	default:
		return err_set(e, -EPROTO, "message of unknown type %d", (int)m.type);
	}
	if (c.bad || cursor_left(&c))
		return err_set(e, -EPROTO, "message of type %d with %zu bytes is malformed",
			       (int)m.type, len);
	*ret = m;
	return 0;
}

static bool is_name(struct str name)
{
	return name.len && name.len <= MAX_NAME && !has_nul(name) &&
	       !memchr(name.ptr, '/', name.len);
}

void wire_put_entry(struct buf *b, struct str name, const struct file_attr *attr)
{
	assert(is_name(name));
	buf_put_byte(b, (unsigned char)name.len);
	buf_put(b, name.ptr, name.len);
	put_attr(b, attr);
}

bool wire_next_entry(struct cursor *c, struct str *ret_name, struct file_attr *ret_attr)
{
	if (!cursor_left(c))
		return false;
	*ret_name = read_text(c, cursor_u8(c));
	*ret_attr = read_attr(c);
	if (!is_name(*ret_name))
		c->bad = true;
	return !c->bad;
}

void wire_put_xattr(struct buf *b, struct str name, struct str value)
{
	assert(name.len && name.len <= MAX_NAME && !has_nul(name) && value.len <= MAX_VALUE);
	buf_put_byte(b, (unsigned char)name.len);
	buf_put(b, name.ptr, name.len);
	buf_put_u32(b, (uint32_t)value.len);
	buf_put(b, value.ptr, value.len);
}

bool wire_next_xattr(struct cursor *c, struct str *ret_name, struct str *ret_value)
{
	if (!cursor_left(c))
		return false;
	*ret_name = read_text(c, cursor_u8(c));
	*ret_value = read_text(c, bounded(c, cursor_u32(c), MAX_VALUE + 1));
	if (!ret_name->len || has_nul(*ret_name))
		c->bad = true;
	return !c->bad;
}

bool file_identity_is_known(const struct file_identity *i)
{
	return i->fs || i->ino || i->ctime_ns || i->size;
}

bool file_identity_equals(const struct file_identity *a, const struct file_identity *b)
{
	return a->fs == b->fs && a->ino == b->ino && a->ctime_ns == b->ctime_ns &&
	       a->size == b->size;
}

void wire_ranks_add(struct wire_ranks *r, uint32_t rank)
{
	uint32_t at = 0;

	while (at < r->count && r->ranks[at] < rank)
		at++;
	if (r->count == WIRE_MAX_RANKS || (at < r->count && r->ranks[at] == rank))
		return;
	for (uint32_t i = r->count++; i > at; i--)
		r->ranks[i] = r->ranks[i - 1];
	r->ranks[at] = rank;
}

bool wire_is_answer(int error)
{
	static const int answers[] = { 0,          ENOENT,       ENOTDIR,   EACCES, EPERM,
				       ELOOP,      ENAMETOOLONG, EISDIR,    EINVAL, ENODATA,
				       ESTALE,     E2BIG,        EOVERFLOW, EFBIG,  ENOSYS,
				       EOPNOTSUPP, ERANGE };

	for (size_t i = 0; i < ARRAY_LEN(answers); i++)
		if (error == answers[i])
			return true;
	return false;
}
