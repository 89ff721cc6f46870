/**
 * A simulated NATS server with JetStream: its clients, subscriptions and routes to its peers, and
 * its share of the streams. It behaves like nats-server 2.9, as far as perpinfo can notice. The
 * contract (contract.ts) is checked against both servers.
 */

import type { Kernel, SimulatedProcess } from '../system/kernel.ts';
import { NO_LEADER } from './api-errors.ts';
import { ClientConnection } from './client-connection.ts';
import { formatHeaders, type Message } from './client-protocol.ts';
import { ConsensusDisk, ConsensusMember, type ConsensusMessage } from './consensus.ts';
import { Consumer } from './consumer.ts';
import { answerDirectly, answerRead, planWrite } from './jetstream-api.ts';
import type { NetworkFaults } from './network-faults.ts';
import { Pipe } from './pipe.ts';
import type { SimulatedSocket } from './simulated-socket.ts';
import { readPublishTerms } from './stream-state.ts';
import { type Operation, Streams } from './streams.ts';

const API = '$JS.API.';
const NONE = Buffer.alloc(0);
/**
 * The maximum time that the server works on a request. It varies, so requests of one connection
 * overtake each other.
 */
const WORK_MS_MAX = 0.3;
const MESSAGE_BYTES_MAX = 1 << 20;

export interface ServerTerms {
  readonly kernel: Kernel;
  readonly faults: NetworkFaults;
  readonly index: number;
  readonly address: string;
  /** All servers, including this server. */
  readonly servers: readonly NatsServer[];
  isRouteCut(from: number, to: number): boolean;
  isClientCut(client: SimulatedProcess, server: number): boolean;
}

export class NatsServer {
  readonly address: string;
  readonly #terms: ServerTerms;
  readonly #index: number;
  /** The data on disk, which survives the process. */
  readonly #disk = new ConsensusDisk<Operation>();
  readonly #streams = new Streams();
  readonly #routes = new Map<NatsServer, Pipe<() => void>>();
  /** Undefined while the server is down. */
  #running: RunningServer | undefined;

  constructor(terms: ServerTerms) {
    this.#terms = terms;
    this.#index = terms.index;
    this.address = terms.address;
  }

  get name(): string {
    return `n${this.#index + 1}`;
  }

  get isUp(): boolean {
    return this.#running !== undefined;
  }

  get process(): SimulatedProcess {
    if (this.#running === undefined) throw new Error(`${this.name} is down`);
    return this.#running.process;
  }

  get isLeader(): boolean {
    return this.#running?.member.isReadyLeader === true;
  }

  /** The number of operations that this server has applied to its streams. */
  get appliedCount(): number {
    return this.#disk.appliedIndex;
  }

  get streams(): Streams {
    return this.#streams;
  }

  start(): void {
    if (this.#running !== undefined) return;
    const { kernel, servers } = this.#terms;
    const process = kernel.start(`nats ${this.name}`, () => undefined);
    const member = new ConsensusMember<Operation>({
      kernel,
      process,
      index: this.#index,
      memberCount: servers.length,
      disk: this.#disk,
      send: (to, message) =>
        this.#sendTo(servers[to], (peer) => peer.#consent(this.#index, message)),
      apply: (operation) => this.#apply(operation),
    });
    this.#running = { process, member, connections: new Set(), consumers: new Map() };
    for (const place of this.#streams.places) {
      if (place.server === this.#index) this.#addConsumer(place.stream, place.name);
    }
  }

  /** Kills the server; its data on disk stays. */
  kill(): void {
    const running = this.#running;
    if (running === undefined) return;
    this.#running = undefined;
    this.#routes.clear();
    this.#terms.kernel.kill(running.process);
    for (const connection of running.connections) connection.reset();
  }

  #consent(from: number, message: ConsensusMessage<Operation>): void {
    this.#running?.member.receive(from, message);
  }

  /** Calls `receive` for a peer, unless the route to it is cut. */
  #sendTo(peer: NatsServer, receive: (peer: NatsServer) => void): void {
    const { kernel, faults, isRouteCut } = this.#terms;
    if (!peer.isUp) return;
    let route = this.#routes.get(peer);
    if (route === undefined) {
      route = new Pipe({
        kernel,
        faults,
        receiver: () => peer.process,
        isCut: () => !peer.isUp || isRouteCut(this.#index, peer.#index),
        losesWhatIsCut: true,
        receive: (calls) => {
          for (const call of calls) call();
        },
      });
      this.#routes.set(peer, route);
    }
    route.send(() => receive(peer));
  }

  #isReachable(peer: NatsServer): boolean {
    return peer.isUp && (peer === this || !this.#terms.isRouteCut(this.#index, peer.#index));
  }

  /** Clients. */

  accept(socket: SimulatedSocket): void {
    const { kernel, faults, isClientCut } = this.#terms;
    const running = this.#running;
    if (running === undefined) return;
    const connection = new ClientConnection({
      kernel,
      faults,
      socket,
      server: running,
      isCut: () => isClientCut(socket.owner, this.#index),
      publish: (message) => this.#publish(message),
      subscribed: (subject) => this.#announceInterest(subject),
      closed: () => running.connections.delete(connection),
    });
    running.connections.add(connection);
    kernel.schedule(faults.delayMs(), () => connection.open(this.#info()), socket.owner);
  }

  #info(): object {
    return {
      server_id: this.name,
      server_name: this.name,
      version: '2.9.10',
      proto: 1,
      headers: true,
      jetstream: true,
      max_payload: MESSAGE_BYTES_MAX,
      connect_urls: this.#terms.servers.map(({ address }) => address),
    };
  }

  /** Returns the connections of a client, or all connections. */
  connectionsOf(client?: SimulatedProcess): ClientConnection[] {
    const all = [...(this.#running?.connections ?? [])];
    return client === undefined ? all : all.filter(({ owner }) => owner === client);
  }

  /** Messages. */

  #publish(message: Message): void {
    const { subject, reply } = message;
    if (this.#terms.faults.losesMessage()) return;
    if (subject.startsWith(API)) {
      if (reply !== undefined) this.#request(subject.slice(API.length).split('.'), message, reply);
      return;
    }
    const isHeard = this.#route(subject, message);
    const leader = this.#leader();
    const isStored = leader?.streams.findBySubject(subject) !== undefined;
    if (leader !== undefined && isStored) this.#pass(leader, (peer) => peer.#storeMessage(message));
    else if (!isHeard && reply !== undefined) this.#answerNobody(reply);
  }

  /**
   * Delivers a message to the servers with a subscriber; returns false if there is no subscriber.
   */
  #route(target: string, message: Message): boolean {
    const interested = this.#terms.servers.filter(
      (server) => this.#isReachable(server) && server.#hasSubscriber(target),
    );
    for (const server of interested) this.#pass(server, (peer) => peer.#deliver(target, message));
    return interested.length > 0;
  }

  #hasSubscriber(subject: string): boolean {
    return this.connectionsOf().some((connection) => connection.isInterested(subject));
  }

  #deliver(target: string, message: Message): void {
    for (const connection of this.connectionsOf()) connection.deliver(target, message);
  }

  /** Calls at once for this server, and over the route for another server. */
  #pass(server: NatsServer, call: (server: NatsServer) => void): void {
    if (server === this) call(this);
    else this.#sendTo(server, call);
  }

  #answerNobody(reply: string): void {
    this.#route(reply, { subject: reply, headers: formatHeaders('503'), data: NONE });
  }

  #answer(reply: string, answer: object): void {
    this.#route(reply, { subject: reply, data: Buffer.from(JSON.stringify(answer)) });
  }

  /** JetStream. */

  /** Returns the leader, as far as this server knows it. */
  #leader(): NatsServer | undefined {
    const leader = this.#running?.member.leader;
    return leader === undefined ? undefined : this.#terms.servers[leader];
  }

  #request(path: readonly string[], message: Message, reply: string): void {
    const { kernel } = this.#terms;
    const [group, verb] = path;
    if (group === 'DIRECT') {
      const able = this.#terms.servers.filter((server) => this.#isReachable(server));
      this.#pass(kernel.random.pick(able), (peer) => peer.#getDirectly(path, message, reply));
      return;
    }
    if (group === 'CONSUMER' && (verb === 'MSG' || verb === 'INFO')) {
      const [stream, name] = path.slice(verb === 'MSG' ? 3 : 2);
      const place = this.#streams.findPlace(stream, name);
      if (place !== undefined) {
        const server = this.#terms.servers[place.server];
        this.#pass(server, (peer) => peer.#askConsumer(place, verb, message, reply));
        return;
      }
      if (verb === 'MSG') {
        this.#answerNobody(reply);
        return;
      }
    }
    const leader = this.#leader();
    if (leader === undefined) this.#answer(reply, NO_LEADER);
    else this.#pass(leader, (peer) => peer.#startWork(path, message, reply));
  }

  #getDirectly(path: readonly string[], message: Message, reply: string): void {
    const answer = answerDirectly(this.#streams, path, message);
    if (answer === undefined) this.#answerNobody(reply);
    else this.#route(reply, { subject: reply, ...answer });
  }

  #startWork(path: readonly string[], message: Message, reply: string): void {
    const { kernel } = this.#terms;
    const workMs = kernel.random.between(0, WORK_MS_MAX);
    kernel.schedule(workMs, () => this.#work(path, message, reply), this.process);
  }

  /** Does the work of a request, if this server is the leader. Only a leader answers. */
  #work(path: readonly string[], message: Message, reply: string): void {
    const member = this.#running?.member;
    if (member?.isReadyLeader !== true) return;
    const { kernel, servers } = this.#terms;
    const server = kernel.random.below(servers.length);
    const operation = planWrite(path, message, { timeMs: kernel.timeMs, server, reply });
    if (operation === undefined) {
      this.#answer(reply, answerRead(this.#streams, path, message, this.#describeCluster()));
      return;
    }
    member.propose(operation, (result) => {
      const isRefused = 'error' in (result as object);
      // The server that gets the consumer sends the answer.
      if (operation.type === 'create consumer' && !isRefused) return;
      const isCreated = operation.type === 'create stream' && !isRefused;
      const info = ['STREAM', 'INFO', path[2]];
      const answer = isCreated
        ? answerRead(this.#streams, info, message, this.#describeCluster())
        : (result as object);
      this.#answer(reply, answer);
    });
  }

  #storeMessage(message: Message): void {
    const member = this.#running?.member;
    const stream = this.#streams.findBySubject(message.subject)?.config.name;
    if (member?.isReadyLeader !== true || stream === undefined) return;
    const { subject, headers, data, reply } = message;
    const terms = readPublishTerms(headers);
    const stored = { subject, headers, data, terms, timeMs: this.#terms.kernel.timeMs };
    member.propose({ type: 'publish', stream, message: stored }, (result) => {
      if (reply !== undefined) this.#answer(reply, result as object);
    });
  }

  /**
   * Returns the description of the cluster by its leader; returns undefined for a single server.
   */
  #describeCluster(): object | undefined {
    const { servers } = this.#terms;
    const member = this.#running?.member;
    if (servers.length === 1 || member === undefined) return undefined;
    const replicas = member.peerSilences().map(({ index, silentMs }) => ({
      name: servers[index].name,
      current: true,
      active: Math.round(silentMs * 1e6),
    }));
    return { name: 'simulated', leader: this.name, replicas };
  }

  #apply(operation: Operation): unknown {
    const result = this.#streams.apply(operation);
    const running = this.#running;
    if (running === undefined) return result;
    if (running.member.leader === this.#index)
      this.#terms.kernel.trace(describe(operation, result));
    if (operation.type === 'create consumer' && operation.place.server === this.#index) {
      const consumer = this.#addConsumer(operation.place.stream, operation.place.name);
      if (consumer !== undefined) this.#answer(operation.reply, consumer.describe());
    }
    if (operation.type === 'delete consumer' || operation.type === 'delete stream') {
      this.#closeConsumers();
    }
    if (operation.type === 'publish') {
      for (const [key, consumer] of running.consumers) {
        if (key.startsWith(`${operation.stream} `)) consumer.deliver();
      }
    }
    return result;
  }

  /** Consumers. */

  #addConsumer(streamName: string, name: string): Consumer | undefined {
    const running = this.#running;
    const place = this.#streams.findPlace(streamName, name);
    const stream = this.#streams.find(streamName);
    if (running === undefined || place === undefined || stream === undefined) return undefined;
    const consumer = new Consumer({
      kernel: this.#terms.kernel,
      process: running.process,
      place,
      stream,
      hasInterest: (subject) =>
        this.#terms.servers.some((peer) => this.#isReachable(peer) && peer.#hasSubscriber(subject)),
      send: (subject, message) => this.#route(subject, message),
      expire: () => this.#expireConsumer(streamName, name),
    });
    running.consumers.set(`${streamName} ${name}`, consumer);
    return consumer;
  }

  /** Closes the consumers that no longer have a place on this server. */
  #closeConsumers(): void {
    const consumers = this.#running?.consumers ?? new Map<string, Consumer>();
    for (const [key, consumer] of consumers) {
      const [stream, name] = key.split(' ');
      if (this.#streams.findPlace(stream, name) !== undefined) continue;
      consumers.delete(key);
      consumer.close();
    }
  }

  #expireConsumer(stream: string, name: string): void {
    const key = `${stream} ${name}`;
    this.#running?.consumers.get(key)?.close();
    this.#running?.consumers.delete(key);
    const leader = this.#leader();
    if (leader === undefined) return;
    this.#pass(leader, (peer) => {
      const member = peer.#running?.member;
      if (member?.isReadyLeader !== true) return;
      member.propose({ type: 'delete consumer', stream, name }, () => undefined);
    });
  }

  #askConsumer(
    { stream, name }: { stream: string; name: string },
    verb: string,
    { data }: Message,
    reply: string,
  ): void {
    const consumer = this.#running?.consumers.get(`${stream} ${name}`);
    if (consumer === undefined) this.#answerNobody(reply);
    else if (verb === 'INFO') this.#answer(reply, consumer.describe());
    else consumer.pull(reply, JSON.parse(data.toString()));
  }

  /** Starts the delivery by consumers that waited for a subscriber. */
  #announceInterest(subject: string): void {
    for (const server of this.#terms.servers) {
      if (!this.#isReachable(server) || !server.#awaits(subject)) continue;
      this.#pass(server, (peer) => peer.#deliverAgain());
    }
  }

  #awaits(subject: string): boolean {
    const consumers = [...(this.#running?.consumers.values() ?? [])];
    return consumers.some(({ deliverSubject }) => deliverSubject === subject);
  }

  #deliverAgain(): void {
    for (const consumer of this.#running?.consumers.values() ?? []) consumer.deliver();
  }
}

interface RunningServer {
  readonly process: SimulatedProcess;
  readonly member: ConsensusMember<Operation>;
  readonly connections: Set<ClientConnection>;
  readonly consumers: Map<string, Consumer>;
}

function describe(operation: Operation, result: object): string {
  const subject = operation.type === 'publish' ? operation.message.subject : '';
  return `nats ${operation.type} ${subject} ${JSON.stringify(result)}`;
}
