/**
 * Raft, as the servers of a cluster use it. The servers elect a leader. An entry that a majority
 * has stored is committed, and is never lost. An entry that the leader has not committed when it
 * loses its peers may survive or be lost. The log is on disk, so a server that is killed still has
 * its log after a restart.
 */

import type { Kernel, SimulatedProcess } from '../system/kernel.ts';

const HEARTBEAT_MS = 1_000;
const ELECTION_MS_MIN = 4_000;
const ELECTION_MS_MAX = 9_000;
/** The first election comes sooner, because servers have just started. */
const FIRST_ELECTION_MS_MAX = 400;
/** A leader that has not heard from a majority for this long becomes a follower. */
const QUORUM_SILENCE_MS = 10_000;

interface Entry<Operation> {
  readonly term: number;
  /** Undefined in the entry by which a new leader commits the entries before it. */
  readonly operation?: Operation;
}

/** The messages between members. */
export type ConsensusMessage<Operation> =
  | {
      readonly type: 'vote?';
      readonly term: number;
      readonly lastIndex: number;
      readonly lastTerm: number;
    }
  | { readonly type: 'vote'; readonly term: number; readonly isGranted: boolean }
  | {
      readonly type: 'append';
      readonly term: number;
      readonly previousIndex: number;
      readonly previousTerm: number;
      readonly entries: readonly Entry<Operation>[];
      readonly commitIndex: number;
    }
  | {
      readonly type: 'appended';
      readonly term: number;
      readonly isStored: boolean;
      /** The index of the last entry that is known to equal the leader's entry. */
      readonly index: number;
    };

export interface MemberTerms<Operation> {
  readonly kernel: Kernel;
  readonly process: SimulatedProcess;
  readonly index: number;
  readonly memberCount: number;
  readonly disk: ConsensusDisk<Operation>;
  send(to: number, message: ConsensusMessage<Operation>): void;
  /** Called once for each committed operation, in the same order on every member. */
  apply(operation: Operation): unknown;
}

/** The data of a member on disk. */
export class ConsensusDisk<Operation> {
  term = 0;
  votedFor: number | undefined;
  /** The log. Entry 0 stands for the place before the first entry. */
  readonly log: Entry<Operation>[] = [{ term: 0 }];
  /**
   * The index of the last applied entry. Applied entries are durable, because the state that they
   * changed is also on disk.
   */
  appliedIndex = 0;
}

interface Peer {
  readonly index: number;
  nextIndex: number;
  storedIndex: number;
  heardMs: number;
}

export class ConsensusMember<Operation> {
  readonly #terms: MemberTerms<Operation>;
  readonly #disk: ConsensusDisk<Operation>;
  readonly #peers: Peer[];
  #role: 'follower' | 'candidate' | 'leader' = 'follower';
  #leader: number | undefined;
  #commitIndex: number;
  #voteCount = 0;
  /**
   * A new leader is ready when this entry is applied, because it then has every committed entry.
   */
  #readyIndex = 0;
  readonly #answers = new Map<number, (result: unknown) => void>();
  #cancelTimer: () => void = () => undefined;

  constructor(terms: MemberTerms<Operation>) {
    this.#terms = terms;
    this.#disk = terms.disk;
    this.#commitIndex = terms.disk.appliedIndex;
    this.#peers = Array.from({ length: terms.memberCount }, (_, index) => index)
      .filter((index) => index !== terms.index)
      .map((index) => ({ index, nextIndex: 1, storedIndex: 0, heardMs: 0 }));
    this.#startTimer(terms.kernel.random.between(1, FIRST_ELECTION_MS_MAX));
  }

  /** The index of the member that this member believes to be the leader. */
  get leader(): number | undefined {
    return this.#leader;
  }

  /**
   * True if this member believes to be the leader, and has applied everything that was committed
   * before.
   */
  get isReadyLeader(): boolean {
    return this.#role === 'leader' && this.#disk.appliedIndex >= this.#readyIndex;
  }

  /** Returns for how long each peer has been silent. */
  peerSilences(): { readonly index: number; readonly silentMs: number }[] {
    const { nowMs } = this.#terms.kernel;
    return this.#peers.map(({ index, heardMs }) => ({ index, silentMs: nowMs - heardMs }));
  }

  /**
   * Calls `answer` with the result when the operation is committed; never calls it if the operation
   * is lost.
   */
  propose(operation: Operation, answer: (result: unknown) => void): void {
    const { log } = this.#disk;
    log.push({ term: this.#disk.term, operation });
    this.#answers.set(log.length - 1, answer);
    this.#replicate();
  }

  receive(from: number, message: ConsensusMessage<Operation>): void {
    if (message.term > this.#disk.term) this.#follow(message.term, undefined);
    if (message.type === 'vote?') this.#vote(from, message);
    if (message.type === 'vote') this.#countVote(message);
    if (message.type === 'append') this.#store(from, message);
    if (message.type === 'appended') this.#noteStored(from, message);
  }

  #startTimer(delayMs: number): void {
    const { kernel, process } = this.#terms;
    this.#cancelTimer();
    const isLeader = this.#role === 'leader';
    const callback = isLeader ? () => this.#beat() : () => this.#campaign();
    this.#cancelTimer = kernel.schedule(delayMs, callback, process);
  }

  #awaitLeader(): void {
    this.#startTimer(this.#terms.kernel.random.between(ELECTION_MS_MIN, ELECTION_MS_MAX));
  }

  #follow(term: number, leader: number | undefined): void {
    if (term > this.#disk.term) {
      this.#disk.term = term;
      this.#disk.votedFor = undefined;
    }
    const hasChanged = this.#role !== 'follower' || this.#leader !== leader;
    this.#role = 'follower';
    this.#leader = leader;
    this.#answers.clear();
    if (hasChanged || leader !== undefined) this.#awaitLeader();
  }

  #campaign(): void {
    const { index, send } = this.#terms;
    this.#role = 'candidate';
    this.#leader = undefined;
    this.#disk.term += 1;
    this.#disk.votedFor = index;
    this.#voteCount = 1;
    this.#awaitLeader();
    const { term, log } = this.#disk;
    const lastIndex = log.length - 1;
    for (const peer of this.#peers) {
      send(peer.index, { type: 'vote?', term, lastIndex, lastTerm: log[lastIndex].term });
    }
    if (this.#isMajority(this.#voteCount)) this.#lead();
  }

  #isMajority(count: number): boolean {
    return 2 * count > this.#terms.memberCount;
  }

  #vote(
    from: number,
    { term, lastIndex, lastTerm }: { term: number; lastIndex: number; lastTerm: number },
  ): void {
    const { log, votedFor } = this.#disk;
    const own = log.length - 1;
    const isAsNew = lastTerm > log[own].term || (lastTerm === log[own].term && lastIndex >= own);
    const isFree = votedFor === undefined || votedFor === from;
    const isGranted = term === this.#disk.term && isFree && isAsNew && this.#role === 'follower';
    if (isGranted) {
      this.#disk.votedFor = from;
      this.#awaitLeader();
    }
    this.#terms.send(from, { type: 'vote', term: this.#disk.term, isGranted });
  }

  #countVote({ term, isGranted }: { term: number; isGranted: boolean }): void {
    if (this.#role !== 'candidate' || term !== this.#disk.term || !isGranted) return;
    this.#voteCount += 1;
    if (this.#isMajority(this.#voteCount)) this.#lead();
  }

  #lead(): void {
    const { kernel, index } = this.#terms;
    const { log, term } = this.#disk;
    kernel.trace(`nats ${index} leads term ${term}`);
    this.#role = 'leader';
    this.#leader = index;
    for (const peer of this.#peers) {
      peer.nextIndex = log.length;
      peer.storedIndex = 0;
      peer.heardMs = kernel.nowMs;
    }
    log.push({ term });
    this.#readyIndex = log.length - 1;
    this.#startTimer(HEARTBEAT_MS);
    this.#replicate();
  }

  #beat(): void {
    const { nowMs } = this.#terms.kernel;
    const heardCount = this.#peers.filter(
      ({ heardMs }) => nowMs - heardMs < QUORUM_SILENCE_MS,
    ).length;
    if (!this.#isMajority(heardCount + 1)) {
      this.#follow(this.#disk.term, undefined);
      return;
    }
    // Entries that were sent may have been lost, so they are sent again.
    for (const peer of this.#peers) peer.nextIndex = peer.storedIndex + 1;
    this.#startTimer(HEARTBEAT_MS);
    this.#replicate();
  }

  #replicate(): void {
    for (const peer of this.#peers) this.#sendEntries(peer);
    this.#commit();
  }

  #sendEntries(peer: Peer): void {
    const { term, log } = this.#disk;
    const previousIndex = Math.min(peer.nextIndex, log.length) - 1;
    const entries = log.slice(previousIndex + 1);
    peer.nextIndex = log.length;
    const previousTerm = log[previousIndex].term;
    const commitIndex = this.#commitIndex;
    const message = {
      type: 'append',
      term,
      previousIndex,
      previousTerm,
      entries,
      commitIndex,
    } as const;
    this.#terms.send(peer.index, message);
  }

  #store(from: number, message: ConsensusMessage<Operation> & { type: 'append' }): void {
    const { log } = this.#disk;
    const { term, previousIndex, previousTerm, entries, commitIndex } = message;
    const isCurrent = term === this.#disk.term;
    if (isCurrent) this.#follow(term, from);
    if (!isCurrent || log[previousIndex]?.term !== previousTerm) {
      const refusal = { term: this.#disk.term, isStored: false, index: 0 };
      this.#terms.send(from, { type: 'appended', ...refusal });
      return;
    }
    entries.forEach((entry, offset) => {
      const at = previousIndex + 1 + offset;
      if (log[at] !== undefined && log[at].term !== entry.term) log.length = at;
      log[at] = entry;
    });
    const index = previousIndex + entries.length;
    this.#terms.send(from, { type: 'appended', term, isStored: true, index });
    this.#applyUpTo(Math.min(commitIndex, index));
  }

  #noteStored(
    from: number,
    { term, isStored, index }: { term: number; isStored: boolean; index: number },
  ): void {
    const peer = this.#peers.find((each) => each.index === from);
    if (this.#role !== 'leader' || term !== this.#disk.term || peer === undefined) return;
    peer.heardMs = this.#terms.kernel.nowMs;
    if (isStored) {
      peer.storedIndex = Math.max(peer.storedIndex, index);
      this.#commit();
    } else {
      peer.nextIndex = 1;
      this.#sendEntries(peer);
    }
  }

  /** Commits the entries that a majority has stored, and notifies the members. */
  #commit(): void {
    const { term, log } = this.#disk;
    let index = log.length - 1;
    const storedCount = (at: number) =>
      this.#peers.filter(({ storedIndex }) => storedIndex >= at).length + 1;
    while (index > this.#commitIndex && !this.#isMajority(storedCount(index))) index--;
    if (index <= this.#commitIndex || log[index].term !== term) return;
    this.#applyUpTo(index);
    for (const peer of this.#peers) this.#sendEntries(peer);
  }

  #applyUpTo(index: number): void {
    this.#commitIndex = Math.max(this.#commitIndex, index);
    while (this.#disk.appliedIndex < this.#commitIndex) {
      const at = ++this.#disk.appliedIndex;
      const { operation } = this.#disk.log[at];
      const answer = this.#answers.get(at);
      this.#answers.delete(at);
      const result = operation === undefined ? undefined : this.#terms.apply(operation);
      answer?.(result);
    }
  }
}
