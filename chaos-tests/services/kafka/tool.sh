#!/usr/bin/env bash
# One of Kafka's own admin tools, by the last part of its class name, for what librdkafka's admin client cannot do.
# usage: ./tool.sh AclCommand --bootstrap-server 127.0.0.1:19092 --add --allow-principal User:writer --operation Write --topic there
set -euo pipefail
here=$(cd "$(dirname "$0")" && pwd)
lib=$("$here/fetch.sh")
tool=${1:?the class: TopicCommand, ConfigCommand, AclCommand, ...}
shift
case $tool in
  ConfigCommand) class=kafka.admin.ConfigCommand ;;
  *) class=org.apache.kafka.tools.$tool ;;
esac
exec java -Xmx256m -XX:+UseSerialGC -XX:TieredStopAtLevel=1 -Dorg.slf4j.simpleLogger.defaultLogLevel=error -cp "$lib/*" "$class" "$@"
