/** Pages for whoever comes without a question: a person at "/", a program at "/llms.txt". */

import { REQUEST_TYPES } from '../../info/registry.ts';
import { AS_DATA, type RequestType } from '../../info/request.ts';
import { REQUEST_ERRORS } from '../../info/request-error.ts';

function describeQuestions(): string {
  return REQUEST_TYPES.map(({ type, summary, weight, fields, example }) => {
    const lines = Object.entries(fields).map(
      ([name, field]) =>
        `  - ${name} (${field.fallback === undefined ? 'required' : 'optional'}): ${field.description}`,
    );
    return [
      `### ${type}`,
      `${summary} Weight ${weight}.`,
      ...(lines.length > 0 ? ['Fields:', ...lines] : ['No fields but type.']),
      `Question: ${JSON.stringify(example.question)}`,
      `Answer: ${JSON.stringify(example.answer)}`,
    ].join('\n');
  }).join('\n\n');
}

function describeSubscriptions(): string {
  return REQUEST_TYPES.filter(({ pushedAs }) => pushedAs !== undefined)
    .map(({ type, pushedAs }) => (pushedAs === type ? type : `${type} (${describeName(pushedAs)})`))
    .join(', ');
}

function describeName(pushedAs: RequestType['pushedAs']): string {
  return pushedAs === AS_DATA
    ? 'its members are those of the data'
    : `its state is called ${pushedAs}`;
}

function describeErrors(): string {
  return Object.entries(REQUEST_ERRORS)
    .map(([code, { status, meaning }]) => `- ${status} ${code}: ${meaning}`)
    .join('\n');
}

const LLMS_TEXT = `# perpinfo

> A read-only query service for a perpetuals exchange and its staking network. One endpoint answers
> questions about perpetuals accounts, staking delegations and the contract-deployment auction.

## How to ask

POST to {base_url}/info with Content-Type: application/json, where {base_url} is this service's
address and the access key as a path segment: POST /{key}/info. Give clients the base address with a
slash at its end, http://host:port/{key}/: some drop the key otherwise. The body is a JSON object; its
field "type" selects the question. Unknown fields are ignored.

Amounts, prices and sizes are decimal text such as "12.5" or "-3.0": parse them as decimals, not as
floats. Times are milliseconds since 1970 unless a name ends in Seconds.

Every answer carries Ledger-Height and Ledger-Time: the one ledger position that it is computed from.
A request may carry Ledger-Min-Height: N to be answered from height N or later, or with 503 "behind".

## Questions

${describeQuestions()}

## Polling

GET /{key}/info?type=...&user=...&dex=... answers as the POST does and carries an ETag. Send it back as
If-None-Match: an answer that still says the same, time left aside, is a 304 without a body.

## Push

A WebSocket at /{key}/ws. Send {"method":"subscribe","subscription":{"type":"clearinghouseState","user":"0x...","dex":""}};
it is acknowledged on channel subscriptionResponse, then the whole state comes on the channel of its
type, at once and whenever it has changed, with height and time. Types: ${describeSubscriptions()}.
Also: {"method":"unsubscribe",...}, {"method":"ping"}, and
{"method":"post","id":1,"request":{"type":"info","payload":{"type":"..."}}} for any question.
Errors come on channel error.

## Budgets

A key may have a budget. RateLimit-Limit, RateLimit-Remaining and RateLimit-Reset tell what is left.
A 429 carries Retry-After in seconds; waiting that long is enough. A refused question weighs 1, as do
the push frames unsubscribe and ping.

## Errors

{"error":"<code>","message":"<what was wrong, which value, what was expected>","field":"<where one is to blame>","code":"<as error>","msg":"<as message>"}

${describeErrors()}

## More

- /openapi.json: the same as OpenAPI 3.1
- /health: 200 when caught up and fresh, else 503; the body says height, ledger time and lag
`;

const HOME_TEXT = `<!doctype html>
<html lang="en">
<meta charset="utf-8">
<meta name="viewport" content="width=device-width">
<title>perpinfo</title>
<style>body{font:16px/1.5 system-ui,sans-serif;max-width:40rem;margin:3rem auto;padding:0 1rem}</style>
<h1>perpinfo</h1>
<p>Perpetuals accounts, staking delegations and the deployment auction, exactly.</p>
<p>Ask with <code>POST /{key}/info</code>.</p>
<ul>
<li><a href="/health">health</a>: how fresh the answers are</li>
<li><a href="/openapi.json">openapi.json</a>: the interface</li>
<li><a href="/llms.txt">llms.txt</a>: the same for programs that read prose</li>
</ul>
</html>
`;

export function formatLlms(): string {
  return LLMS_TEXT;
}

export function formatHome(): string {
  return HOME_TEXT;
}
