-- A factory inventory, one table per fact about an item.
CREATE TABLE quantity (item BIGINT, quantity INT);
CREATE TABLE max_stock (item BIGINT, max_stock INT);
CREATE TABLE min_stock (item BIGINT, min_stock INT);
-- How many of an item a day consumes, on average.
CREATE TABLE consume_freq (item BIGINT, consume_freq INT);
CREATE TABLE supplies (supplier BIGINT, item BIGINT);
-- How many days a supplier needs to deliver an item.
CREATE TABLE delivery_time (item BIGINT, supplier BIGINT, delivery_time INT);
