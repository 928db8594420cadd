"""The confluent-kafka half of the client tests. Prints one JSON document; exits non-zero when a call fails.

usage: client.py BROKER COMMAND ARGUMENT...
"""

import json
import sys
import time

from confluent_kafka import Consumer, KafkaException, Producer, TopicPartition
from confluent_kafka.admin import AdminClient, ConfigResource, NewTopic

SECONDS_MAX = 60


def produce(broker, topic, count, *settings):
    """Produces `count` numbered records; settings are name=value, with linger short so that there are many requests."""
    count = int(count)
    conf = {"bootstrap.servers": broker, "linger.ms": 0, "batch.num.messages": 10}
    conf.update(setting.split("=", 1) for setting in settings)
    producer = Producer(conf)
    reports = {"delivered": 0, "failed": 0}

    def delivered(error, _message):
        reports["failed" if error else "delivered"] += 1

    for number in range(count):
        while True:
            try:
                producer.produce(topic, key=b"k", value=str(number).encode(), on_delivery=delivered)
                break
            except BufferError:
                producer.poll(0.1)
        producer.poll(0)
    left = producer.flush(SECONDS_MAX)
    return {**reports, "left": left}


def consume(broker, topic, group, count):
    """Reads `count` records in a group, commits and leaves."""
    consumer = Consumer(
        {
            "bootstrap.servers": broker,
            "group.id": group,
            "auto.offset.reset": "earliest",
            "enable.auto.commit": False,
        }
    )
    consumer.subscribe([topic])
    values, deadline = [], time.monotonic() + SECONDS_MAX
    while len(values) < int(count) and time.monotonic() < deadline:
        message = consumer.poll(0.1)
        if message is None:
            continue
        if message.error():
            raise KafkaException(message.error())
        values.append(message.value().decode())
    consumer.commit(asynchronous=False)
    consumer.close()
    return {"values": values}


def share(broker, topic, group):
    """Two members of one group: how many hold the one partition, and whether the other takes over."""
    conf = {"bootstrap.servers": broker, "group.id": group, "session.timeout.ms": 6000}
    members = [Consumer(conf), Consumer(conf)]
    for member in members:
        member.subscribe([topic])
    owners = wait_for(members, lambda: [bool(member.assignment()) for member in members], 1)
    owner = owners.index(True)
    members[owner].close()
    other = members[1 - owner]
    taken = wait_for([other], lambda: [bool(other.assignment())], 1)
    other.close()
    return {"owners": sum(owners), "taken_over": sum(taken)}


def wait_for(members, look, wanted):
    deadline = time.monotonic() + SECONDS_MAX
    while time.monotonic() < deadline:
        for member in members:
            member.poll(0.1)
        if sum(look()) == wanted:
            break
    return look()


def admin(broker):
    """Creates, refuses, describes and deletes topics."""
    client = AdminClient({"bootstrap.servers": broker})

    def code(future):
        try:
            future.result(SECONDS_MAX)
            return "NO_ERROR"
        except KafkaException as error:
            return error.args[0].name()

    def create(topic):
        return code(client.create_topics([topic])[topic.topic])

    answers = {
        "good": create(NewTopic("good", 1, 1)),
        "again": create(NewTopic("good", 1, 1)),
        "partitions": create(NewTopic("wide", 2, 1)),
        "replicas": create(NewTopic("safe", 1, 3)),
        "defaults": create(NewTopic("plain", -1, -1)),
        "name": create(NewTopic("bad name", 1, 1)),
        "dotted": create(NewTopic("a.b", 1, 1)),
        "collision": create(NewTopic("a_b", 1, 1)),
        "config": create(NewTopic("tuned", 1, 1, config={"max.message.bytes": "2000"})),
        "bad_config": create(NewTopic("typo", 1, 1, config={"max.mesage.bytes": "2000"})),
        "deleted": code(client.delete_topics(["good"])["good"]),
        "gone": code(client.delete_topics(["good"])["good"]),
    }
    resource = ConfigResource(ConfigResource.Type.TOPIC, "tuned")
    configs = client.describe_configs([resource])[resource].result(SECONDS_MAX)
    answers["max.message.bytes"] = configs["max.message.bytes"].value
    answers["topics"] = sorted(client.list_topics(timeout=SECONDS_MAX).topics)
    return answers


def groups(broker, group):
    """What admin tools see of a group."""
    client = AdminClient({"bootstrap.servers": broker})
    listed = client.list_consumer_groups(request_timeout=SECONDS_MAX).result(SECONDS_MAX)
    described = client.describe_consumer_groups([group], request_timeout=SECONDS_MAX)[group].result(SECONDS_MAX)
    return {
        "listed": [found.group_id for found in listed.valid],
        "state": described.state.name,
        "members": len(described.members),
    }


def offsets(broker, topic, *times):
    """The watermarks and the offsets for times."""
    consumer = Consumer({"bootstrap.servers": broker, "group.id": "unused"})
    low, high = consumer.get_watermark_offsets(TopicPartition(topic, 0), timeout=SECONDS_MAX)
    wanted = [TopicPartition(topic, 0, int(time)) for time in times]
    found = [consumer.offsets_for_times([one], timeout=SECONDS_MAX)[0].offset for one in wanted]
    consumer.close()
    return {"low": low, "high": high, "found": found}


def transaction(broker):
    """How a transactional producer is refused, and how fast."""
    producer = Producer({"bootstrap.servers": broker, "transactional.id": "t"})
    started = time.monotonic()
    try:
        producer.init_transactions(SECONDS_MAX)
        name = "NO_ERROR"
    except KafkaException as error:
        name = error.args[0].name()
    return {"error": name, "seconds": time.monotonic() - started}


COMMANDS = {
    command.__name__: command for command in [produce, consume, share, admin, groups, offsets, transaction]
}

if __name__ == "__main__":
    _, address, name, *arguments = sys.argv
    print(json.dumps(COMMANDS[name](address, *arguments)))
