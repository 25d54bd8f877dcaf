/*
 * The one way out of a sealed slot.
 *
 *   forwarder [PORT [SOCKET]]        defaults: 8484 /run/tiltyard/gw.sock
 *
 * It listens on 127.0.0.1:PORT of a network namespace that has nothing but loopback, and joins every
 * connection to the metering gateway's unix socket. It is pid 1 of its container, forks nothing and allocates
 * nothing: all it will ever use is the pool below.
 *
 * The code in the slot may try to harm it. So connections are capped, and accepting stops at the cap: the
 * kernel's queue holds the next ones, and the gateway's file descriptors stay bounded too. A reader that does
 * not read holds one buffer per direction and nothing more.
 *
 * Each connection has two directions, each with one buffer. A direction reads only while its buffer is empty,
 * so a slow receiver slows its sender down. The end of a stream is passed on as a half-close.
 */
#define _GNU_SOURCE
#include <arpa/inet.h>
#include <errno.h>
#include <netinet/in.h>
#include <netinet/tcp.h>
#include <signal.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/epoll.h>
#include <sys/resource.h>
#include <sys/socket.h>
#include <sys/un.h>
#include <time.h>
#include <unistd.h>

enum {
	MAX_CONNECTIONS = 256,
	BUFFER_SIZE = 32 * 1024,
	BACKLOG = 1024,
	BATCH = 64,           /* events taken from the kernel at once */
	ROUNDS = 8,           /* buffers moved for one connection before others get their turn */
	SPARE_FDS = 16,       /* standard streams, epoll, the listener, and some air */
	RETRY_MS = 10,        /* pause before asking a busy gateway again */
	RETRY_LIMIT_MS = 5000 /* after this long a busy gateway counts as gone */
};

enum side { CLIENT = 0, GATEWAY = 1 };

/* Bytes on their way from one side to the other. */
struct direction {
	uint32_t start, end; /* what buffer[] still holds: [start, end) */
	bool ended;          /* the sender will send no more */
	bool closed;         /* the receiver has been told */
	char buffer[BUFFER_SIZE];
};

struct connection {
	bool used;
	bool connecting;          /* the gateway's queue was full; try again */
	bool gateway_gone;        /* the gateway closed both ways */
	int64_t since;            /* when connecting began, in ms */
	int fd[2];                /* by side */
	uint32_t watched[2];      /* the event mask that epoll holds; 0: not in epoll */
	struct direction from[2]; /* by the side that sends */
};

static struct connection pool[MAX_CONNECTIONS];
static int used_count, connecting_count;
static int epoll_fd, listen_fd;
static bool accepting;
static struct sockaddr_un gateway;

static const uint64_t LISTENER = UINT64_MAX;

static void die(const char *what)
{
	fprintf(stderr, "forwarder: %s: %s\n", what, strerror(errno));
	exit(1);
}

static int64_t now_ms(void)
{
	struct timespec now;
	clock_gettime(CLOCK_MONOTONIC, &now);
	return (int64_t)now.tv_sec * 1000 + now.tv_nsec / 1000000;
}

/* As pid 1 the process gets no default action for a signal: it must ask to be ended. */
static void on_term(int signal)
{
	(void)signal;
	_exit(0);
}

static void accept_more(bool on)
{
	struct epoll_event event = {.events = EPOLLIN, .data.u64 = LISTENER};
	if (on == accepting)
		return;
	if (epoll_ctl(epoll_fd, on ? EPOLL_CTL_ADD : EPOLL_CTL_DEL, listen_fd, &event) < 0)
		die("cannot watch the listening socket");
	accepting = on;
}

static void drop(struct connection *c)
{
	/* Closing takes a descriptor out of epoll. */
	close(c->fd[CLIENT]);
	if (c->fd[GATEWAY] >= 0)
		close(c->fd[GATEWAY]);
	if (c->connecting)
		connecting_count--;
	c->used = false;
	used_count--;
	accept_more(true);
}

/*
 * Tell epoll what one side is waited for. A mask of 0 takes the descriptor out: epoll reports a hang-up even
 * to those who did not ask, and a closed peer behind a full buffer would spin the loop.
 */
static void watch(struct connection *c, enum side side, uint32_t mask)
{
	struct epoll_event event = {.events = mask, .data.u64 = (uint64_t)(c - pool) * 2 + side};
	int operation = EPOLL_CTL_MOD;
	if (mask == c->watched[side])
		return;
	if (mask == 0)
		operation = EPOLL_CTL_DEL;
	else if (c->watched[side] == 0)
		operation = EPOLL_CTL_ADD;
	if (epoll_ctl(epoll_fd, operation, c->fd[side], &event) < 0)
		die("cannot watch a connection");
	c->watched[side] = mask;
}

static bool is_empty(const struct direction *d)
{
	return d->start == d->end;
}

static void watch_both(struct connection *c)
{
	for (int side = CLIENT; side <= GATEWAY; side++) {
		const struct direction *out = &c->from[side], *in = &c->from[!side];
		uint32_t mask = 0;
		if (!out->ended && is_empty(out))
			mask |= EPOLLIN;
		if (!is_empty(in))
			mask |= EPOLLOUT;
		watch(c, side, mask);
	}
}

/* Outcome of one system call on a stream. */
enum step { MOVED, BLOCKED, BROKEN };

static enum step failed(void)
{
	return errno == EAGAIN || errno == EWOULDBLOCK || errno == EINTR ? BLOCKED : BROKEN;
}

static enum step fill(struct direction *d, int fd)
{
	ssize_t got = recv(fd, d->buffer, BUFFER_SIZE, 0);
	if (got < 0)
		return failed();
	d->start = 0;
	d->end = (uint32_t)got;
	d->ended = got == 0;
	return MOVED;
}

static enum step flush(struct direction *d, int fd)
{
	ssize_t sent = send(fd, d->buffer + d->start, d->end - d->start, MSG_NOSIGNAL);
	if (sent < 0)
		return failed();
	d->start += (uint32_t)sent;
	return MOVED;
}

/* Move what can be moved in one direction; false means that the connection is broken. */
static bool pump(struct direction *d, int from, int to)
{
	for (int round = 0; round < ROUNDS; round++) {
		enum step step;
		if (!is_empty(d))
			step = flush(d, to);
		else if (!d->ended)
			step = fill(d, from);
		else
			break;
		if (step == BROKEN)
			return false;
		if (step == BLOCKED)
			break;
	}
	if (d->ended && is_empty(d) && !d->closed) {
		shutdown(to, SHUT_WR);
		d->closed = true;
	}
	return true;
}

static void serve(struct connection *c)
{
	struct direction *up = &c->from[CLIENT], *down = &c->from[GATEWAY];
	bool whole = pump(up, c->fd[CLIENT], c->fd[GATEWAY]);
	/* A gateway that refuses the rest of a request may still have answered: deliver that first. */
	whole = pump(down, c->fd[GATEWAY], c->fd[CLIENT]) && whole;
	if (!whole || (down->closed && (up->closed || c->gateway_gone)))
		drop(c);
	else
		watch_both(c);
}

/* Reach the gateway for a new client, or for one that waits because the gateway's queue was full. */
static void reach_gateway(struct connection *c)
{
	bool done = connect(c->fd[GATEWAY], (struct sockaddr *)&gateway, sizeof gateway) == 0;
	bool busy = !done && (errno == EAGAIN || errno == EINTR);
	if (busy && now_ms() - c->since < RETRY_LIMIT_MS) {
		connecting_count += !c->connecting;
		c->connecting = true;
		return;
	}
	connecting_count -= c->connecting;
	c->connecting = false;
	if (done)
		watch_both(c);
	else
		drop(c); /* no gateway: the client sees a closed connection */
}

/* Accepting stops at the cap, so there is one. */
static struct connection *free_slot(void)
{
	struct connection *c = pool;
	while (c->used)
		c++;
	return c;
}

static void welcome(int client)
{
	struct connection *c = free_slot();
	int one = 1;
	setsockopt(client, IPPROTO_TCP, TCP_NODELAY, &one, sizeof one);
	memset(c, 0, offsetof(struct connection, from));
	for (int side = CLIENT; side <= GATEWAY; side++)
		memset(&c->from[side], 0, offsetof(struct direction, buffer));
	c->used = true;
	used_count++;
	c->since = now_ms();
	c->fd[CLIENT] = client;
	c->fd[GATEWAY] = socket(AF_UNIX, SOCK_STREAM | SOCK_NONBLOCK | SOCK_CLOEXEC, 0);
	if (c->fd[GATEWAY] < 0)
		drop(c);
	else
		reach_gateway(c);
}

static void accept_clients(void)
{
	while (used_count < MAX_CONNECTIONS) {
		int client = accept4(listen_fd, NULL, NULL, SOCK_NONBLOCK | SOCK_CLOEXEC);
		if (client < 0)
			return;
		welcome(client);
	}
	accept_more(false);
}

static void retry_waiting(void)
{
	for (int i = 0; i < MAX_CONNECTIONS && connecting_count > 0; i++)
		if (pool[i].used && pool[i].connecting)
			reach_gateway(&pool[i]);
}

static void on_event(const struct epoll_event *event)
{
	struct connection *c;
	if (event->data.u64 == LISTENER) {
		accept_clients();
		return;
	}
	c = &pool[event->data.u64 / 2];
	/* An earlier event of the same batch may have dropped it; a new one in its place only looks once more. */
	if (!c->used || c->connecting)
		return;
	if (event->data.u64 % 2 == GATEWAY && event->events & (EPOLLHUP | EPOLLERR))
		c->gateway_gone = true;
	serve(c);
}

static void listen_on(uint16_t port)
{
	struct sockaddr_in address = {
		.sin_family = AF_INET, .sin_port = htons(port), .sin_addr.s_addr = htonl(INADDR_LOOPBACK)};
	listen_fd = socket(AF_INET, SOCK_STREAM | SOCK_NONBLOCK | SOCK_CLOEXEC, 0);
	if (listen_fd < 0 || bind(listen_fd, (struct sockaddr *)&address, sizeof address) < 0 ||
	    listen(listen_fd, BACKLOG) < 0)
		die("cannot listen");
}

static void want_descriptors(void)
{
	struct rlimit limit;
	if (getrlimit(RLIMIT_NOFILE, &limit) < 0)
		die("cannot read the limit of open files");
	limit.rlim_cur = limit.rlim_max;
	if (setrlimit(RLIMIT_NOFILE, &limit) < 0 || limit.rlim_cur < 2 * MAX_CONNECTIONS + SPARE_FDS) {
		errno = EMFILE;
		die("the limit of open files is too low");
	}
}

static void set_up(int argc, char **argv)
{
	const char *path = argc > 2 ? argv[2] : "/run/tiltyard/gw.sock";
	long port = argc > 1 ? strtol(argv[1], NULL, 10) : 8484;
	if (argc > 3 || port < 1 || port > 65535 || strlen(path) >= sizeof gateway.sun_path) {
		fprintf(stderr, "usage: forwarder [PORT [SOCKET]]\n");
		exit(2);
	}
	signal(SIGTERM, on_term);
	signal(SIGINT, on_term);
	want_descriptors();
	gateway.sun_family = AF_UNIX;
	strcpy(gateway.sun_path, path);
	listen_on((uint16_t)port);
	epoll_fd = epoll_create1(EPOLL_CLOEXEC);
	if (epoll_fd < 0)
		die("cannot make an epoll set");
	accept_more(true);
	printf("listening on 127.0.0.1:%ld for %s\n", port, path);
	fflush(stdout);
}

int main(int argc, char **argv)
{
	struct epoll_event events[BATCH];
	set_up(argc, argv);
	for (;;) {
		int count = epoll_wait(epoll_fd, events, BATCH, connecting_count > 0 ? RETRY_MS : -1);
		if (count < 0 && errno != EINTR)
			die("cannot wait for events");
		for (int i = 0; i < count; i++)
			on_event(&events[i]);
		if (connecting_count > 0)
			retry_waiting();
	}
}
