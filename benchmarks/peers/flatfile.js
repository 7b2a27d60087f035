// A boardgame.io server that stores its games with FlatFile: node flatfile.js PORT FOLDER
"use strict";

const { FlatFile, Origins, Server } = require("boardgame.io/server");

const CARDS = 10;

// Four players bid cards and draw them back, without end; a position is about as large as one of Byzanz.
const bids = {
  name: "bids",
  setup: ({ ctx }) => ({
    hands: ctx.playOrder.map((seat) => Array.from({ length: CARDS }, (_, n) => `Grain ${n} of ${seat}`)),
    bids: ctx.playOrder.map(() => []),
    piles: ctx.playOrder.map(() => []),
  }),
  turn: { minMoves: 1, maxMoves: 1 },
  moves: {
    bid: ({ G, playerID }, at) => {
      const seat = Number(playerID);
      G.hands[seat].push(...G.bids[seat]);
      G.bids[seat] = G.hands[seat].splice(at % G.hands[seat].length, 1);
    },
  },
};

const [port, folder] = process.argv.slice(2);
const db = new FlatFile({ dir: folder, logging: false });
Server({ games: [bids], db, origins: [Origins.LOCALHOST] }).run({ port: Number(port) });
