/**
 * The panel of the deployment auction: not live yet, running, at its floor, or ended. The panel is
 * folded while no auction runs.
 */

import type { ComponentChildren, TargetedEvent } from 'preact';
import { useRef, useState } from 'preact/hooks';
import { digitsOfAuction } from '../figures/all-digits.ts';
import type { Answer, Auction } from '../figures/answers.ts';
import { drawLine, elapsedMs, type Floor, findFloor, timeOfGas } from '../figures/auction-line.ts';
import {
  type AuctionState,
  describeEnd,
  describeSchedule,
  isIdle,
  noteObservation,
  type Observation,
  stateOfAuction,
  summarizeIdle,
} from '../figures/auction-state.ts';
import { formatDecimal } from '../figures/decimal.ts';
import { formatDuration, formatTime } from '../figures/text.ts';
import { Figure } from '../parts/figure.tsx';
import { Frame } from '../parts/panel.tsx';
import { Stat } from '../parts/stat.tsx';
import { ledgerNow } from '../view/selectors.ts';
import { isUnfolded, saveUnfolded } from '../view/storage.ts';
import type { View } from '../view/store.ts';
import { AuctionChart } from './auction-chart.tsx';

const NAME = 'auction';

export function AuctionPanel({ view }: { view: View }) {
  const { answer, refusal } = view.auction;
  const { floor, observation } = useSeen(answer);
  const auction = answer?.value;
  const now = ledgerNow(view);
  const digits =
    auction == null ? undefined : () => digitsOfAuction(auction, floor && formatDecimal(floor.gas));
  const isFolding = auction !== undefined && isIdle(stateOfAuction(auction, now));
  const body =
    answer === undefined || auction == null ? (
      <p class="empty" data-field="auctionState">
        {describeNothing(answer, refusal !== undefined)}
      </p>
    ) : (
      <AuctionBody {...{ auction, floor, observation, now }} time={answer.time} />
    );
  return (
    <Frame name={NAME} title="Deployment auction" view={view} panel={view.auction} digits={digits}>
      {isFolding ? <Folded summary={summarizeIdle(auction)}>{body}</Folded> : body}
    </Frame>
  );
}

function describeNothing(answer: Answer | undefined, isRefused: boolean): string {
  if (answer !== undefined) {
    return 'Not live yet: the ledger has no auction. Once one is announced, it is shown here.';
  }
  return isRefused ? 'There is no answer.' : 'Asking…';
}

interface Seen {
  /**
   * The floor, derived from an answer during the auction; undefined if no answer gave it. An answer
   * after the end does not give the floor.
   */
  readonly floor: Floor | undefined;
  readonly observation: Observation | undefined;
}

/** Returns the floor and the observation of the end, from this answer and from earlier answers. */
function useSeen(answer: Answer<Auction | null> | undefined): Seen {
  const seen = useRef<Seen>({ floor: undefined, observation: undefined });
  if (answer?.value == null) return seen.current;
  const { value: auction, time } = answer;
  const { floor, observation } = seen.current;
  const isSame = floor?.startTimeSeconds === auction.startTimeSeconds;
  seen.current = {
    floor: findFloor(auction, time) ?? (isSame ? floor : undefined),
    observation: noteObservation(observation, auction, time),
  };
  return seen.current;
}

/**
 * The panel's content while no auction runs. The browser stores whether the person has unfolded it.
 */
function Folded({ summary, children }: { summary: string; children: ComponentChildren }) {
  const [isOpen, setOpen] = useState(isUnfolded(NAME));
  const toggle = (event: TargetedEvent<HTMLDetailsElement>) => {
    const { open } = event.currentTarget;
    setOpen(open);
    saveUnfolded(NAME, open);
  };
  return (
    <details class="fold" open={isOpen} onToggle={toggle}>
      <summary>{summary}</summary>
      {children}
    </details>
  );
}

interface BodyProps extends Seen {
  readonly auction: Auction;
  /** The ledger's time of the answer, in milliseconds. */
  readonly time: number;
  /** The ledger's present time, in milliseconds. */
  readonly now: number;
}

function AuctionBody({ auction, floor, observation, time, now }: BodyProps) {
  const state = stateOfAuction(auction, now);
  const presentMs =
    state === 'ended' && floor ? timeOfGas(auction, floor, auction.currentGas) : time;
  return (
    <div class="auction-body">
      <dl class="stats">
        <Stat label={PRICE_LABELS[state]} size="main">
          <Figure text={auction.currentGas} field="currentGas" decimals={4} suffix=" gas" />
        </Stat>
        <TimeLeft auction={auction} now={now} />
        <Stat label="Start">
          <Figure text={auction.startGas} field="startGas" />
        </Stat>
        <FloorStat floor={floor} />
      </dl>
      {state === 'ended' && observation && <End auction={auction} observation={observation} />}
      {floor !== undefined ? (
        <AuctionChart
          line={drawLine(auction, floor, presentMs)}
          label="The price falls in a line from start to floor; a dot marks the present price"
        />
      ) : (
        state !== 'ended' && (
          <p class="empty small">
            {state === 'scheduled' ? 'It has not started yet.' : 'It has just started.'}
          </p>
        )
      )}
    </div>
  );
}

const PRICE_LABELS: Readonly<Record<AuctionState, string>> = {
  none: '',
  scheduled: 'Cost at the start',
  running: 'Cost now',
  atFloor: 'Cost now',
  ended: 'Ended at',
};

function End({ auction, observation }: { auction: Auction; observation: Observation }) {
  return (
    <p class="auction-end muted small">
      It ended <span data-field="auctionEnd">{describeEnd(auction, observation)}</span>.{' '}
      {describeSchedule(auction)} The endpoint does not report when the next auction starts. An
      announced auction is shown here.
    </p>
  );
}

function describeTime(auction: Auction, now: number): readonly [label: string, text: string] {
  const { startTimeSeconds, durationSeconds } = auction;
  const state = stateOfAuction(auction, now);
  if (state === 'ended') return ['State', 'ended'];
  if (state === 'atFloor') return ['Time left', 'none: at the floor'];
  const startMs = startTimeSeconds * 1000;
  if (state === 'scheduled') return ['Starts in', formatDuration(startMs - now)];
  return ['Time left', formatDuration(durationSeconds * 1000 - elapsedMs(auction, now))];
}

function TimeLeft({ auction, now }: { auction: Auction; now: number }) {
  const [label, text] = describeTime(auction, now);
  const { startTimeSeconds, durationSeconds } = auction;
  const from = formatTime(startTimeSeconds * 1000);
  const to = formatTime((startTimeSeconds + durationSeconds) * 1000);
  return (
    <Stat label={label} title={`from ${from} to ${to}`} field="auctionState">
      {text}
    </Stat>
  );
}

function FloorStat({ floor }: { floor: Floor | undefined }) {
  const hint =
    'computed from the start and the current price: the endpoint does not report the floor';
  return (
    <Stat label="Floor" title={floor?.isExact === false ? hint : undefined}>
      {floor?.isExact === false && '≈ '}
      {floor === undefined ? '–' : <Figure text={formatDecimal(floor.gas)} field="floorGas" />}
    </Stat>
  );
}
