/** A question that waits or is in flight, with all callers that wait for its answer. */

import { isForClient, type Priority } from '../limits/priority.ts';
import type { Ticket, WaitingRequest } from '../limits/upstream-budget.ts';
import { UpstreamError } from '../upstream-error.ts';
import type { WaitingKeys } from '../waiting-keys.ts';
import type { UpstreamAnswer } from './upstream-answer.ts';

/** A caller that waits for the answer. */
export interface Reader {
  readonly priority: Priority;
  readonly waitingKeys?: WaitingKeys | undefined;
  resolve(answer: UpstreamAnswer): void;
  reject(error: Error): void;
}

export interface QuestionText {
  readonly type: string;
  /** The text that is sent. Equal questions have equal texts. */
  readonly body: string;
  /** The maximum weight that the question can cost. */
  readonly weight: number;
}

/** The part of the upstream's client that sends the question. */
export interface ReadSender {
  send(ticket: Ticket): void;
  /** Called when the read has ended, before its callers receive an answer or an error. */
  finished(): void;
}

export class SharedRead implements WaitingRequest {
  readonly question: QuestionText;
  priority: Priority;
  isSent = false;
  /** The number of requests that were sent for this read. */
  attempts = 0;
  readonly #readers = new Set<Reader>();
  readonly #sender: ReadSender;

  constructor(question: QuestionText, priority: Priority, sender: ReadSender) {
    this.question = question;
    this.priority = priority;
    this.#sender = sender;
  }

  get weight(): number {
    return this.question.weight;
  }

  /** The ids of the keys of all waiting callers; undefined if no key waits for the read. */
  get keyIds(): readonly string[] | undefined {
    const keyIds = [...this.#readers].flatMap(({ waitingKeys }) => [
      ...(waitingKeys?.keyIds ?? []),
    ]);
    return keyIds.length === 0 ? undefined : keyIds;
  }

  /** Notes that the upstream has charged for the question, or may have charged for it. */
  noteSent(): void {
    for (const { waitingKeys } of this.#readers)
      if (waitingKeys !== undefined) waitingKeys.isSent = true;
  }

  get hasReaders(): boolean {
    return this.#readers.size > 0;
  }

  add(reader: Reader): void {
    this.#readers.add(reader);
  }

  /** Removes a caller; returns false if no caller is left. */
  remove(reader: Reader): boolean {
    this.#readers.delete(reader);
    return this.#readers.size > 0;
  }

  granted(ticket: Ticket): void {
    this.isSent = true;
    this.attempts++;
    this.#sender.send(ticket);
  }

  failed(error: UpstreamError): void {
    this.finish(error);
  }

  finish(result: UpstreamAnswer | UpstreamError): void {
    this.#sender.finished();
    for (const reader of this.#take(() => true)) {
      if (result instanceof UpstreamError) reader.reject(result);
      else reader.resolve(result);
    }
  }

  /**
   * Rejects the callers that are clients, because clients cannot wait; returns false if no caller
   * is left.
   */
  rejectClients(error: UpstreamError): boolean {
    for (const reader of this.#take(({ priority }) => isForClient(priority))) reader.reject(error);
    return this.#readers.size > 0;
  }

  #take(isTaken: (reader: Reader) => boolean): Reader[] {
    const taken = [...this.#readers].filter(isTaken);
    for (const reader of taken) this.#readers.delete(reader);
    return taken;
  }
}
