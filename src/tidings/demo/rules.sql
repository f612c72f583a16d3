-- What was ordered, and when it was noticed that it had to be.
CREATE TABLE orders (item BIGINT, amount INT, placed TIMESTAMP);

-- An item is one instance: that a shortage gets worse is no new shortage.
CREATE RULE monitor_items
WHEN SELECT item, amount FROM to_order
DO INSERT INTO orders SELECT item, amount, now() FROM condition
WITH (action = 'deferred', key = item);
