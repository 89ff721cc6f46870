/**
 * The content of /llms.txt: the interface in prose, generated from the declarations that parse
 * questions.
 */

import { describeSurcharge } from '../../info/archive/surcharge.ts';
import { isRequired } from '../../info/fields/field.ts';
import { AS_DATA } from '../../info/question-type.ts';
import {
  FORWARDED_TYPES,
  OWN_TYPES,
  PUSHED_TYPES,
  UPSTREAM_TYPES,
} from '../../info/question-types.ts';
import { REQUEST_ERRORS } from '../../info/request-error.ts';

function describeQuestions(): string {
  return OWN_TYPES.map((questionType) => {
    const { type, summary, weight, fields, example } = questionType;
    const surcharge =
      questionType.source === 'archive' ? ` ${describeSurcharge(questionType.shares)}` : '';
    const lines = Object.entries(fields).map(
      ([name, field]) =>
        `  - ${name} (${isRequired(field) ? 'required' : 'optional'}): ${field.description}`,
    );
    return [
      `### ${type}`,
      `${summary} Weight ${weight}.${surcharge}`,
      ...(lines.length > 0 ? ['Fields:', ...lines] : ['No fields but type.']),
      `Question: ${JSON.stringify(example.question)}`,
      `Answer: ${JSON.stringify(example.answer)}`,
    ].join('\n');
  }).join('\n\n');
}

function describeSubscriptions(): string {
  return PUSHED_TYPES.map(({ type, push }) =>
    push?.name === type ? type : `${type} (${describePushedName(push?.name)})`,
  ).join(', ');
}

function describePushedName(name: string | typeof AS_DATA | undefined): string {
  return name === AS_DATA ? 'the answer itself is the data' : `the answer is the member ${name}`;
}

/** Lists the types that are forwarded to the exchange, by group. */
function describeForwarded(): string {
  const groups = new Map<string, string[]>();
  for (const { group, type, fields } of UPSTREAM_TYPES) {
    const names = Object.entries(fields).map(([name, field]) =>
      isRequired(field) ? name : `${name}?`,
    );
    const texts = groups.get(group) ?? [];
    groups.set(group, texts);
    texts.push(names.length === 0 ? type : `${type} (${names.join(', ')})`);
  }
  return [...groups].map(([group, texts]) => `- ${group}: ${texts.join(', ')}`).join('\n');
}

function describeErrors(): string {
  return Object.entries(REQUEST_ERRORS)
    .map(([code, { status, meaning }]) => `- ${status} ${code}: ${meaning}`)
    .join('\n');
}

const CSV_TYPES = OWN_TYPES.filter((each) => each.source === 'archive' && each.hasCsv)
  .map(({ type }) => type)
  .join(', ');

const FORWARDED_OWN = FORWARDED_TYPES.filter(({ source }) => source !== 'upstream')
  .map(({ type }) => type)
  .join(', ');

const LLMS_TEXT = `# perpinfo

> A read-only query service for a perpetuals exchange and its staking network. One endpoint answers
> questions about perpetuals accounts, staking delegations and the contract-deployment auction.

## How to ask

POST /{key}/info with Content-Type: application/json. The body is a JSON object whose field "type"
selects the question; unknown fields are ignored. Clients that take a base URL get
http://host:port/{key}/ with the trailing slash: without it, some of them drop the key.

Amounts, prices and sizes are decimal strings such as "12.5" or "-3.0". Parse them as decimals, not
as floats. Times are milliseconds since 1970 unless the name ends in Seconds.

Every answer is computed from one ledger position, given by the headers Ledger-Height and
Ledger-Time. With the request header Ledger-Min-Height: N the answer is from height N or later, or
the request fails with 503 "behind".

Where the service keeps an archive, every question may have the field atHeight, or atTime in
milliseconds: it is answered as of that moment. With "format": "csv" or the header Accept: text/csv,
these types are answered as CSV: ${CSV_TYPES}.

A ledger that follows another server is partial: it holds the accounts that were asked for. The header
Account-Time says when the account was read there, and Account-Max-Age: MS on a request has an older
one read again first. An account that cannot be read is a 502 "upstream_failed" or 503 "not_ready".
With Account-Source: upstream, the answer is that server's own.

## Questions

${describeQuestions()}

## Questions that the exchange answers

A service that follows an exchange and runs with --forward passes these questions on. So it does with
${FORWARDED_OWN}.
Without --forward, the types above are answered from the ledger, and these are refused:

${describeForwarded()}

## Polling

GET /{key}/info?type=...&user=...&dex=... answers like the POST and carries an ETag, but for
histories and answers of another server. Send it back as If-None-Match: while the answer is unchanged,
apart from its time, the response is a 304 without a body.

## Push

Connect a WebSocket to /{key}/ws and send
{"method":"subscribe","subscription":{"type":"clearinghouseState","user":"0x...","dex":""}}.
The subscription is acknowledged on the channel subscriptionResponse. The whole state, with height and
time, then arrives on the channel named after its type: once at the start, and again when it changes.
Types: ${describeSubscriptions()}.
Other methods: {"method":"unsubscribe",...}, {"method":"ping"}, and
{"method":"post","id":1,"request":{"type":"info","payload":{"type":"..."}}} for any question.
Errors arrive on the channel error, or post if they answer a post:
{"channel":"error","data":"<text>","error":{"code":"<code>","message":"<as in HTTP>","field":"<the field to blame, if any>",
"retryAfterSeconds":<if known>,"method":"subscribe","subscription":{...}}}; of a post, method is post and id its id.

## Rate limits

A key may have a budget. The headers RateLimit-Limit, RateLimit-Remaining and RateLimit-Reset give its
state. A 429 for the budget carries Retry-After in seconds; waiting that long is enough. A refused question weighs 1,
as do the push frames unsubscribe and ping. Each question and frame weighs at least 1 for each 8 KiB of it; one of more
than 1 KiB gets a 429 unread if less than that, or less than 2, is left.

A question about the present may name a moment. ${describeSurcharge()}
What is known before the work starts (the moment, its accounts, the points of a series) has to be left; the rest is
charged as the work goes on, as a debt where the budget is spent.

## Errors

{"error":"<code>","message":"<what was wrong, which value, what was expected>","field":"<the field to blame, if any>","code":"<same as error>","msg":"<same as message>"}

${describeErrors()}

## More

- /openapi.json: the same interface as OpenAPI 3.1
- /health: 200 when caught up and fresh, otherwise 503; the body has height, ledger time and lag
`;

/** Returns the content of /llms.txt: the interface as prose for language models. */
export function formatLlms(): string {
  return LLMS_TEXT;
}
