/**
 * Decides from the head of a request whether the request is admitted, and makes the replies to
 * refused requests.
 */

import { type Admission, NO_KEY, UNKNOWN_KEY } from '../../access/admission.ts';
import type { Allowance } from '../../access/budgets.ts';
import type { Key } from '../../access/keys.ts';
import type { Prepayment } from '../../access/prepayment.ts';
import type { RequestError } from '../../info/request-error.ts';
import type { LiveState } from '../../replica/live-state.ts';
import { weighLength } from '../message/parse-limits.ts';
import { isOurs, refusalReply, replyToPreflight } from '../message/refusal-reply.ts';
import type { Reply } from '../message/reply.ts';
import type { RequestHead } from '../message/request-head.ts';
import { countProbe, type RequestingClient } from './requesting-client.ts';

/** The weight of a refused question. */
export const REFUSED_WEIGHT = 1;
/**
 * The weight of a body over the limit. The weight is high because the refusal closes the
 * connection, and opening a new connection is expensive.
 */
const TOO_LARGE_WEIGHT = 20;

/** The known facts about a refused request. */
export interface Refused {
  readonly client: RequestingClient;
  readonly allow?: string;
  readonly key?: Key;
  readonly type?: string | undefined;
  readonly payment?: Prepayment | undefined;
  /** The length in bytes of a long question that was read. */
  readonly length?: number;
  /** True if the rest of the body was not read. The connection must then be closed. */
  readonly isUnread?: boolean;
}

export interface RefusalsParts {
  readonly live: LiveState;
  readonly admission: Admission;
}

export class Refusals {
  readonly #parts: RefusalsParts;

  constructor(parts: RefusalsParts) {
    this.#parts = parts;
  }

  /**
   * Returns the key of an admitted request. Returns a reply if the head alone decides the reply.
   */
  admitHead(head: RequestHead, client: RequestingClient): Key | Reply {
    if (head.routeRefusal !== undefined) {
      return this.refuse(head.routeRefusal, { client, allow: head.allow });
    }
    if (head.method === 'OPTIONS') return replyToPreflight(head);
    if (head.secretHash === '') return this.refuse(NO_KEY, { client });
    const key = this.#parts.admission.findKey(head.secretHash);
    if (key === undefined) return this.refuse(UNKNOWN_KEY, { client });
    if (head.headRefusal === undefined) return key;
    return this.refuse(head.headRefusal, { client, key });
  }

  refuse(refusal: RequestError, refused: Refused): Reply {
    const { client, key, type, allow, payment, isUnread = false } = refused;
    const { code } = refusal;
    const reply = refusalReply(refusal, type);
    if (code === 'method_not_allowed') reply.allow = allow;
    payment?.giveBack();
    if (key !== undefined) reply.allowance = this.charge(key, refusal, refused);
    reply.isLast = isUnread || code === 'body_too_large' || countProbe(code, client);
    const state = code === 'behind' ? this.#parts.live.state : undefined;
    if (state !== undefined) {
      reply.height = state.height;
      reply.time = state.time;
    }
    return reply;
  }

  /**
   * Charges a refusal to the key's budget. Refusals because of our own limits and failures are
   * free. A refusal after a wait for a height is not free: the client chose the height, and the
   * wait counted towards the limit of waiting requests. Work that was done and paid for is not
   * charged twice.
   */
  charge(
    key: Key,
    refusal: RequestError,
    { payment, length = 0 }: Pick<Refused, 'payment' | 'length'> = {},
  ): Allowance | undefined {
    const isFree = isOurs(refusal) || payment?.isDone === true;
    const weight =
      refusal.code === 'body_too_large'
        ? TOO_LARGE_WEIGHT
        : Math.max(REFUSED_WEIGHT, weighLength(length));
    return this.#parts.admission.chargeWhatIsLeft(key, isFree ? 0 : weight);
  }
}
