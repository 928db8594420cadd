/* The bare loop: what the engine's job costs with nothing of the engine in it.
 *
 * It sends ready-made records of about 200 bytes in batches, at most WINDOW batches unresolved, waits for every
 * delivery report, saves a small state file after a delivered batch the way the engine does (temporary file,
 * fdatasync, rename, fsync of the folder), and only then frees the batch's place. The client is the very librdkafka
 * that the engine links, with the engine's settings, producing by handle; saving runs on a thread of its own and one
 * save may cover several batches, as in the engine. With WINDOW 0 it is the plain unbounded producer: no waiting, no
 * saves. It is C because producing by handle needs what the crate around it forbids itself, and because a peer that
 * shares no code with the engine can share no mistake with it.
 *
 *   bare BOOTSTRAP TOPIC_PREFIX TOPICS BATCH WINDOW STATE_DIR WARM_SECONDS SECONDS
 *
 * Record i of a batch goes to topic PREFIX(i mod TOPICS), or to PREFIX itself when TOPICS is 1. Prints one line:
 *   records=N seconds=S saves=N save_p50_us=N
 */
#include <errno.h>
#include <fcntl.h>
#include <pthread.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>
#include <unistd.h>

#include "rdkafka.h"

#define WINDOW_MAX 64
#define SAVES_MAX (1 << 20)
#define QUEUE_MAX 100000

struct arguments {
    const char *bootstrap, *prefix, *state_dir;
    int topics, batch, window;
    double warm, seconds;
};

struct group {
    rd_kafka_topic_t *topic;
    rd_kafka_message_t *records;
    int count;
};

/* Batches are numbered from 0; slot = number mod window. */
struct progress {
    pthread_mutex_t lock;
    pthread_cond_t changed;
    int64_t delivered, saved; /* all batches below are */
    int stopping;
    const char *state_dir;
    int64_t saves;
    uint32_t save_us[SAVES_MAX];
};

static int outstanding[WINDOW_MAX];
static int64_t reports;
static struct progress progress = { .lock = PTHREAD_MUTEX_INITIALIZER, .changed = PTHREAD_COND_INITIALIZER };

static void die(const char *doing, const char *why)
{
    fprintf(stderr, "bare: cannot %s: %s\n", doing, why);
    exit(1);
}

static double now(void)
{
    struct timespec t;
    clock_gettime(CLOCK_MONOTONIC, &t);
    return (double)t.tv_sec + (double)t.tv_nsec / 1e9;
}

/* One save as the engine's file store does it. */
static void save(const char *dir, int64_t number)
{
    char temporary[4096], final[4096], state[64];
    snprintf(temporary, sizeof temporary, "%s/.bare.tmp", dir);
    snprintf(final, sizeof final, "%s/bare.state", dir);
    int length = snprintf(state, sizeof state, "%060lld", (long long)number);
    int file = open(temporary, O_WRONLY | O_CREAT | O_TRUNC, 0600);
    if (file < 0 || write(file, state, (size_t)length) != length || fdatasync(file) != 0 || close(file) != 0)
        die("write the state", strerror(errno));
    if (rename(temporary, final) != 0)
        die("rename the state", strerror(errno));
    int folder = open(dir, O_RDONLY | O_DIRECTORY);
    if (folder < 0 || fsync(folder) != 0 || close(folder) != 0)
        die("sync the state folder", strerror(errno));
}

static void *saver(void *unused)
{
    (void)unused;
    pthread_mutex_lock(&progress.lock);
    for (;;) {
        while (progress.saved == progress.delivered && !progress.stopping)
            pthread_cond_wait(&progress.changed, &progress.lock);
        if (progress.saved == progress.delivered)
            break;
        int64_t upto = progress.delivered;
        pthread_mutex_unlock(&progress.lock);
        double began = now();
        save(progress.state_dir, upto);
        uint32_t took = (uint32_t)((now() - began) * 1e6);
        pthread_mutex_lock(&progress.lock);
        if (progress.saves < SAVES_MAX)
            progress.save_us[progress.saves] = took;
        progress.saves++;
        progress.saved = upto;
        pthread_cond_broadcast(&progress.changed);
    }
    pthread_mutex_unlock(&progress.lock);
    return NULL;
}

static void delivered(rd_kafka_t *client, const rd_kafka_message_t *record, void *opaque)
{
    (void)client;
    (void)opaque;
    if (record->err)
        die("deliver a record", rd_kafka_err2str(record->err));
    outstanding[(intptr_t)record->_private]--;
    reports++;
}

static rd_kafka_t *open_client(const char *bootstrap)
{
    static const char *settings[][2] = {
        { "enable.idempotence", "true" },    { "enable.gapless.guarantee", "true" },
        { "acks", "all" },                   { "message.timeout.ms", "0" },
        { "linger.ms", "0" },                { "batch.num.messages", "10000" },
        { "message.max.bytes", "1016384" },  { "topic.metadata.propagation.max.ms", "1000" },
    };
    char error[512];
    rd_kafka_conf_t *conf = rd_kafka_conf_new();
    if (rd_kafka_conf_set(conf, "bootstrap.servers", bootstrap, error, sizeof error) != RD_KAFKA_CONF_OK)
        die("set bootstrap.servers", error);
    for (size_t i = 0; i < sizeof settings / sizeof settings[0]; i++)
        if (rd_kafka_conf_set(conf, settings[i][0], settings[i][1], error, sizeof error) != RD_KAFKA_CONF_OK)
            die(settings[i][0], error);
    rd_kafka_conf_set_dr_msg_cb(conf, delivered);
    rd_kafka_t *client = rd_kafka_new(RD_KAFKA_PRODUCER, conf, error, sizeof error);
    if (!client)
        die("make a client", error);
    return client;
}

/* Ready-made records, those of one topic together, in the shape of the random source's documents. */
static struct group *make_groups(rd_kafka_t *client, const struct arguments *a, int *count)
{
    *count = a->topics < a->batch ? a->topics : a->batch;
    struct group *groups = calloc((size_t)*count, sizeof *groups);
    for (int g = 0; g < *count; g++) {
        char name[300];
        snprintf(name, sizeof name, a->topics == 1 ? "%s" : "%s%d", a->prefix, g);
        groups[g].topic = rd_kafka_topic_new(client, name, NULL);
        groups[g].count = (a->batch - g + a->topics - 1) / a->topics;
        groups[g].records = calloc((size_t)groups[g].count, sizeof *groups[g].records);
        for (int i = 0; i < groups[g].count; i++) {
            char *document = malloc(300);
            int sequence = 1000000 + g + i * a->topics;
            int length = snprintf(document, 300,
                "{\"id\":\"7f1a1c8e-3d4b-4a0e-9f0c-%012d\",\"sequence\":%d,\"user_id\":\"user-%d\",\"title\":\"Hello\","
                "\"name\":\"World\",\"text\":\"%060d\"}", sequence, sequence, g, sequence);
            groups[g].records[i].payload = document;
            groups[g].records[i].len = (size_t)length;
        }
    }
    return groups;
}

static void enqueue(struct group *groups, int count, intptr_t slot)
{
    for (int g = 0; g < count; g++) {
        for (int i = 0; i < groups[g].count; i++)
            groups[g].records[i]._private = (void *)slot;
        int taken = rd_kafka_produce_batch(groups[g].topic, 0, RD_KAFKA_MSG_F_COPY, groups[g].records, groups[g].count);
        if (taken != groups[g].count)
            die("enqueue", "the client's queue is full");
    }
}

/* Waits until batch `number` has a free place: the batch a window before it is delivered and saved. */
static void make_room(rd_kafka_t *client, int64_t number, int window)
{
    for (;;) {
        pthread_mutex_lock(&progress.lock);
        int64_t before = progress.delivered;
        while (progress.delivered < number && outstanding[progress.delivered % window] == 0)
            progress.delivered++;
        if (progress.delivered != before)
            pthread_cond_broadcast(&progress.changed);
        int all_delivered = progress.delivered == number;
        int full = number - progress.saved >= window;
        if (full && all_delivered)
            pthread_cond_wait(&progress.changed, &progress.lock);
        pthread_mutex_unlock(&progress.lock);
        if (!full)
            return;
        if (!all_delivered)
            rd_kafka_poll(client, 1);
    }
}

static int by_size(const void *a, const void *b)
{
    uint32_t x = *(const uint32_t *)a, y = *(const uint32_t *)b;
    return (x > y) - (x < y);
}

static void run(rd_kafka_t *client, const struct arguments *a)
{
    int count;
    struct group *groups = make_groups(client, a, &count);
    pthread_t thread;
    if (a->window > 0 && pthread_create(&thread, NULL, saver, NULL) != 0)
        die("start a thread", strerror(errno));
    double began = now(), measured = 0, end = began + a->warm + a->seconds;
    int64_t reports_before = 0, saves_before = 0;
    for (int64_t number = 0;; number++) {
        double t = now();
        if (measured == 0 && t >= began + a->warm) {
            measured = t;
            reports_before = reports;
            saves_before = progress.saves;
        }
        if (t >= end)
            break;
        if (a->window > 0)
            make_room(client, number, a->window);
        while (a->window == 0 && rd_kafka_outq_len(client) + a->batch > QUEUE_MAX)
            rd_kafka_poll(client, 1);
        intptr_t slot = a->window > 0 ? number % a->window : 0;
        outstanding[slot] += a->batch;
        enqueue(groups, count, slot);
        rd_kafka_poll(client, 0);
    }
    double seconds = now() - measured;
    int64_t records = reports - reports_before;
    int64_t saves = progress.saves - saves_before;
    uint32_t *times = progress.save_us + saves_before;
    if (saves > 0)
        qsort(times, (size_t)saves, sizeof *times, by_size);
    printf("records=%lld seconds=%.3f saves=%lld save_p50_us=%u\n", (long long)records, seconds, (long long)saves,
        saves > 0 ? times[saves / 2] : 0);
}

int main(int argc, char **argv)
{
    if (argc != 9)
        die("start", "usage: bare BOOTSTRAP TOPIC_PREFIX TOPICS BATCH WINDOW STATE_DIR WARM_SECONDS SECONDS");
    struct arguments a = { argv[1], argv[2], argv[6], atoi(argv[3]), atoi(argv[4]), atoi(argv[5]), atof(argv[7]),
        atof(argv[8]) };
    if (a.topics < 1 || a.batch < 1 || a.window < 0 || a.window > WINDOW_MAX || a.window * a.batch > QUEUE_MAX)
        die("start", "a number is out of range");
    progress.state_dir = a.state_dir;
    run(open_client(a.bootstrap), &a);
    fflush(stdout);
    /* What is still in flight is of no interest, and closing would wait for it. */
    _exit(0);
}
