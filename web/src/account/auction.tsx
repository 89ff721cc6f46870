/** The deployment auction: not live yet, running, at its floor, or ended. */

import { useRef } from 'preact/hooks';
import type { Answer, Auction } from '../figures/answers.ts';
import { drawLine, elapsedMs, type Floor, findFloor, timeOfGas } from '../figures/auction-line.ts';
import { formatDecimal } from '../figures/decimal.ts';
import { formatDuration, formatTime } from '../figures/text.ts';
import { Figure } from '../parts/figure.tsx';
import { Frame } from '../parts/panel.tsx';
import { ledgerNow, type View } from '../view/view.ts';
import { AuctionChart } from './auction-chart.tsx';

export function AuctionPanel({ view }: { view: View }) {
  const { auction } = view;
  const { answer } = auction;
  return (
    <Frame name="auction" title="Deployment auction" view={view} panel={auction}>
      {answer === undefined ? (
        <p class="empty">{auction.refusal === undefined ? 'Asking…' : 'There is no answer.'}</p>
      ) : answer.value === null ? (
        <p class="empty" data-field="auctionState">
          Not live yet: this ledger has had no auction.
        </p>
      ) : (
        <AuctionBody auction={answer.value} answer={answer} now={ledgerNow(view)} />
      )}
    </Frame>
  );
}

interface BodyProps {
  readonly auction: Auction;
  readonly answer: Answer;
  /** The ledger's time. */
  readonly now: number;
}

function AuctionBody({ auction, answer, now }: BodyProps) {
  // Cached: after the end the floor can no longer be derived.
  const known = useRef<Floor>(undefined);
  const found = findFloor(auction, answer.time);
  if (found !== undefined) known.current = found;
  const isKnown = known.current?.startTimeSeconds === auction.startTimeSeconds;
  const floor = isKnown ? known.current : undefined;
  const isEnded = auction.endGas !== null;
  const isAhead = !isEnded && now < auction.startTimeSeconds * 1000;
  const presentMs = isEnded && floor ? timeOfGas(auction, floor, auction.currentGas) : answer.time;
  return (
    <div class="auction-body">
      <dl class="stats">
        <div class="stat stat-main">
          <dt>{isEnded ? 'Ended at' : isAhead ? 'Cost at the start' : 'Cost now'}</dt>
          <dd>
            <Figure text={auction.currentGas} field="currentGas" decimals={4} suffix=" gas" />
          </dd>
        </div>
        <TimeLeft auction={auction} now={now} />
        <div class="stat">
          <dt>Start</dt>
          <dd>
            <Figure text={auction.startGas} field="startGas" />
          </dd>
        </div>
        <FloorStat floor={floor} />
      </dl>
      {floor === undefined ? (
        <p class="empty small">
          {isEnded
            ? `It began at ${formatTime(auction.startTimeSeconds * 1000)}, for at most ${formatDuration(auction.durationSeconds * 1000)}. Its line is shown while an auction runs.`
            : isAhead
              ? 'It has not begun.'
              : 'It has just begun.'}
        </p>
      ) : (
        <AuctionChart
          line={drawLine(auction, floor, presentMs)}
          label="The price falls in a line from start to floor; a dot marks the present price"
        />
      )}
    </div>
  );
}

function describeTime(auction: Auction, now: number): readonly [label: string, text: string] {
  const { startTimeSeconds, durationSeconds, endGas } = auction;
  if (endGas !== null) return ['State', 'ended'];
  const startMs = startTimeSeconds * 1000;
  if (now < startMs) return ['Starts in', formatDuration(startMs - now)];
  const leftMs = durationSeconds * 1000 - elapsedMs(auction, now);
  return leftMs > 0 ? ['Time left', formatDuration(leftMs)] : ['Time left', 'none: at the floor'];
}

function TimeLeft({ auction, now }: { auction: Auction; now: number }) {
  const [label, text] = describeTime(auction, now);
  const { startTimeSeconds, durationSeconds } = auction;
  const from = formatTime(startTimeSeconds * 1000);
  const to = formatTime((startTimeSeconds + durationSeconds) * 1000);
  return (
    <div class="stat" title={`from ${from} to ${to}`}>
      <dt>{label}</dt>
      <dd class="figure" data-field="auctionState">
        {text}
      </dd>
    </div>
  );
}

function FloorStat({ floor }: { floor: Floor | undefined }) {
  const hint = 'worked out from start and present price: the endpoint does not tell it';
  return (
    <div class="stat" title={floor?.isExact === false ? hint : undefined}>
      <dt>Floor</dt>
      <dd>
        {floor === undefined ? (
          '–'
        ) : (
          <>
            {floor.isExact ? '' : '≈ '}
            <Figure text={formatDecimal(floor.gas)} field="floorGas" />
          </>
        )}
      </dd>
    </div>
  );
}
