/**
 * All streams of a server, and the server of each consumer: the data on which the servers agree.
 */

import type { ConsumerConfig, StreamConfig } from '@nats-io/jetstream';
import {
  CONSUMER_NOT_FOUND,
  NAME_IN_USE,
  STREAM_NOT_FOUND,
  sequenceNotFound,
} from './api-errors.ts';
import { type NewMessage, type PurgeRequest, StreamState } from './stream-state.ts';

export interface ConsumerPlace {
  readonly stream: string;
  readonly name: string;
  readonly config: ConsumerConfig;
  readonly createdMs: number;
  /** The index of the consumer's server. */
  readonly server: number;
}

export type Operation =
  | { readonly type: 'create stream'; readonly config: StreamConfig; readonly timeMs: number }
  | { readonly type: 'delete stream'; readonly stream: string }
  | { readonly type: 'purge'; readonly stream: string; readonly request: PurgeRequest }
  | { readonly type: 'delete message'; readonly stream: string; readonly seq: number }
  | { readonly type: 'publish'; readonly stream: string; readonly message: NewMessage }
  | { readonly type: 'create consumer'; readonly place: ConsumerPlace; readonly reply: string }
  | { readonly type: 'delete consumer'; readonly stream: string; readonly name: string };

export class Streams {
  readonly #streams = new Map<string, StreamState>();
  readonly #places = new Map<string, ConsumerPlace>();

  find(name: string): StreamState | undefined {
    return this.#streams.get(name);
  }

  /** Returns the stream that accepts messages on a subject. */
  findBySubject(subject: string): StreamState | undefined {
    return [...this.#streams.values()].find((stream) => stream.takes(subject));
  }

  get places(): Iterable<ConsumerPlace> {
    return this.#places.values();
  }

  findPlace(stream: string, name: string): ConsumerPlace | undefined {
    return this.#places.get(keyOf(stream, name));
  }

  /** Applies an operation. Every server applies the same operations, and gets the same answers. */
  apply(operation: Operation): object {
    switch (operation.type) {
      case 'create stream':
        return this.#create(operation.config, operation.timeMs);
      case 'delete stream':
        return this.#delete(operation.stream);
      case 'purge': {
        const stream = this.#streams.get(operation.stream);
        if (stream === undefined) return STREAM_NOT_FOUND;
        return { success: true, purged: stream.purge(operation.request) };
      }
      case 'delete message': {
        const stream = this.#streams.get(operation.stream);
        if (stream === undefined) return STREAM_NOT_FOUND;
        const { seq } = operation;
        return stream.delete(seq) ? { success: true } : sequenceNotFound(seq);
      }
      case 'publish':
        return this.#streams.get(operation.stream)?.publish(operation.message) ?? STREAM_NOT_FOUND;
      case 'create consumer': {
        const { place } = operation;
        if (!this.#streams.has(place.stream)) return STREAM_NOT_FOUND;
        this.#places.set(keyOf(place.stream, place.name), place);
        return {};
      }
      case 'delete consumer': {
        const isThere = this.#places.delete(keyOf(operation.stream, operation.name));
        return isThere ? { success: true } : CONSUMER_NOT_FOUND;
      }
    }
  }

  #create(config: StreamConfig, timeMs: number): object {
    const created = new StreamState(config, timeMs);
    const existing = this.#streams.get(config.name);
    if (existing === undefined) this.#streams.set(config.name, created);
    else if (JSON.stringify(existing.config) !== JSON.stringify(created.config)) return NAME_IN_USE;
    return {};
  }

  #delete(name: string): object {
    for (const [key, { stream }] of this.#places) if (stream === name) this.#places.delete(key);
    return this.#streams.delete(name) ? { success: true } : STREAM_NOT_FOUND;
  }
}

function keyOf(stream: string, name: string): string {
  return `${stream} ${name}`;
}
