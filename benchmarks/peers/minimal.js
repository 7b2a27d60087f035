// A minimal server of durable moves on better-sqlite3, in the manner of rally-the-troops: node minimal.js PORT FOLDER
//
// One POST is one move: it is added to the log and the position is updated, in one transaction that is on the disk
// before the answer.
"use strict";

const http = require("node:http");
const path = require("node:path");
const Database = require("better-sqlite3");

const [port, folder] = process.argv.slice(2);
const db = new Database(path.join(folder, "minimal.db"));
db.pragma("journal_mode = WAL");
db.pragma("synchronous = FULL");
db.exec(`
  CREATE TABLE IF NOT EXISTS state (game TEXT PRIMARY KEY, position TEXT NOT NULL) WITHOUT ROWID;
  CREATE TABLE IF NOT EXISTS move (
    game TEXT NOT NULL, number INTEGER NOT NULL, seat INTEGER NOT NULL, arguments TEXT NOT NULL, PRIMARY KEY (game, number)
  ) WITHOUT ROWID;
`);
const load = db.prepare("SELECT position FROM state WHERE game = ?").pluck();
const add = db.prepare("INSERT INTO move (game, number, seat, arguments) VALUES (?, ?, ?, ?)");
const save = db.prepare("INSERT OR REPLACE INTO state (game, position) VALUES (?, ?)");

const setup = () => ({
  number: 0,
  hands: [0, 1, 2, 3].map((seat) => Array.from({ length: 10 }, (_, n) => `Grain ${n} of ${seat}`)),
  bids: [[], [], [], []],
  piles: [[], [], [], []],
});

const play = db.transaction((game, at) => {
  const text = load.get(game);
  const position = text ? JSON.parse(text) : setup();
  const seat = position.number % 4;
  position.number += 1;
  position.hands[seat].push(...position.bids[seat]);
  position.bids[seat] = position.hands[seat].splice(at % position.hands[seat].length, 1);
  add.run(game, position.number, seat, JSON.stringify([at]));
  save.run(game, JSON.stringify(position));
  return position.number;
});

const server = http.createServer((request, response) => {
  let body = "";
  request.on("data", (chunk) => { body += chunk; });
  request.on("end", () => {
    const { game, at } = body ? JSON.parse(body) : {};
    const answer = JSON.stringify(game ? { seq: play.immediate(game, at) } : {});
    response.writeHead(game ? 201 : 200, { "Content-Type": "application/json", "Content-Length": answer.length });
    response.end(answer);
  });
});
server.listen(Number(port), "127.0.0.1");
