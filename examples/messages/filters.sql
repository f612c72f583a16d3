-- Everything on one list.
CREATE CONTINUOUS QUERY on_databases AS
  SELECT msgid, subject FROM msgs WHERE list = 'databases.lists.example.org';

-- What Jones has replied to.
CREATE CONTINUOUS QUERY answered_by_jones AS
  SELECT m.msgid, m.subject FROM msgs m, msgs r WHERE r.inreplyto = m.msgid AND r.sender = 'jones@example.org';

-- Two weeks old, and nobody has replied.
CREATE CONTINUOUS QUERY unanswered AS
  SELECT m.msgid, m.subject FROM msgs m
  WHERE m.ts + INTERVAL 14 DAYS < now()
  AND NOT EXISTS (SELECT * FROM msgs r WHERE r.inreplyto = m.msgid)
  WITH (every = INTERVAL 1 DAY);

-- Discussions: a message, a reply to it, and a reply to that.
CREATE CONTINUOUS QUERY discussions AS
  SELECT m.msgid, m.subject FROM msgs m, msgs r, msgs s
  WHERE m.inreplyto IS NULL AND r.inreplyto = m.msgid AND s.inreplyto = r.msgid;

-- What three people or more have replied to.
CREATE CONTINUOUS QUERY lively AS
  SELECT m.msgid, m.subject FROM msgs m, msgs r WHERE r.inreplyto = m.msgid
  GROUP BY m.msgid, m.subject HAVING count(DISTINCT r.sender) > 2;

-- What was among the two threads with the most messages of the last week.
CREATE CONTINUOUS QUERY top_threads AS
  SELECT thread, count(*) AS messages FROM msgs WHERE ts + INTERVAL 7 DAYS > now()
  GROUP BY thread ORDER BY messages DESC, thread LIMIT 2;
