-- What must be in stock so that a delivery ordered now comes in time.
CREATE VIEW threshold AS
SELECT c.item, c.consume_freq * d.delivery_time + m.min_stock AS threshold
FROM consume_freq c
JOIN supplies s ON s.item = c.item
JOIN delivery_time d ON d.item = s.item AND d.supplier = s.supplier
JOIN min_stock m ON m.item = c.item;

CREATE VIEW low_stock AS
SELECT q.item
FROM quantity q
JOIN threshold t ON t.item = q.item
WHERE q.quantity < t.threshold;

-- How much of a low item fills the store again.
CREATE VIEW to_order AS
SELECT l.item, m.max_stock - q.quantity AS amount
FROM low_stock l
JOIN quantity q ON q.item = l.item
JOIN max_stock m ON m.item = l.item;
