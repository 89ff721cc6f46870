/**
 * A bare WebSocket server that computes nothing. It reads a frame from a file, and adapts the frame
 * once to each subscription. It sends the frame again and again, once an interval or as fast as it
 * can:
 *
 *   node build/bench/servers/fixed-push.js FILE SUBSCRIPTIONS INTERVAL_MS
 *
 * It repeats the frames when it has SUBSCRIPTIONS subscriptions. A client with unread frames is
 * skipped.
 */

import { readFileSync } from 'node:fs';
import type { AddressInfo } from 'node:net';
import { type WebSocket, WebSocketServer } from 'ws';

interface Subscriber {
  readonly socket: WebSocket;
  readonly frame: Buffer;
}

const [file, count, intervalMs] = process.argv.slice(2);
/** The time between two batches of frames if there is an interval. */
const TICK_MS = 10;
const template = JSON.parse(readFileSync(file, 'utf8'));
const subscribers: Subscriber[] = [];

function subscribe(socket: WebSocket, request: string): void {
  const { user, dex } = JSON.parse(request).subscription;
  const data = { ...template.data, user, dex };
  const frame = Buffer.from(JSON.stringify({ ...template, data }));
  subscribers.push({ socket, frame });
  send({ socket, frame });
  if (subscribers.length < Number(count)) return;
  if (intervalMs === '0') sendForever();
  else sendInTurn(Number(intervalMs));
}

function send({ socket, frame }: Subscriber): void {
  if (socket.bufferedAmount === 0) socket.send(frame, { binary: false });
}

/** Sends all frames again and again. After each round the sockets get a turn of the event loop. */
function sendForever(): void {
  for (const subscriber of subscribers) send(subscriber);
  setImmediate(sendForever);
}

/** Sends each frame once an interval, with the frames spread evenly over the interval. */
function sendInTurn(interval: number): void {
  const startedMs = performance.now();
  let sent = 0;
  setInterval(() => {
    const due = ((performance.now() - startedMs) / interval) * subscribers.length;
    for (; sent < due; sent++) send(subscribers[sent % subscribers.length]);
  }, TICK_MS);
}

const server = new WebSocketServer({ host: '127.0.0.1', port: 0, clientTracking: false });
server.on('connection', (socket) => {
  socket.on('message', (data) => subscribe(socket, data.toString()));
  socket.on('error', () => undefined);
});
server.on('listening', () => {
  const { port } = server.address() as AddressInfo;
  console.log(JSON.stringify({ msg: 'listening', port }));
});
