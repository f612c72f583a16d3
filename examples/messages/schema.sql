-- A message as RFC 5322 has it. It counts from the instant in its Date on.
CREATE TABLE msgs (
  msgid STRING, sender STRING, subject STRING, list STRING, inreplyto STRING, thread STRING, ts TIMESTAMP
) WITH (append_only, time = ts);
