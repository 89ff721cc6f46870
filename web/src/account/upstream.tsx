/**
 * The exchange that the ledger follows: its address, whether it is healthy, and the follower's
 * report.
 */

import type { FollowReport } from '../figures/answers.ts';
import { formatAge, formatCount } from '../figures/text.ts';
import { Bar } from '../parts/figure.tsx';
import { Stat } from '../parts/stat.tsx';
import type { View } from '../view/store.ts';

const NOTHING = '\u2013';

/** The part of the header about the upstream; null if the ledger follows no exchange. */
export function UpstreamState({ view }: { view: View }) {
  const { freshness, link } = view;
  const { follow, status } = freshness ?? {};
  if (follow === undefined && status !== 'upstream_failed') return null;
  const state = link.state === 'offline' ? 'unknown' : follow?.isHealthy ? 'healthy' : 'failing';
  return (
    <div class={`upstream upstream-${state}`} title={follow?.reason}>
      <dt>Upstream</dt>
      <dd>
        <span aria-hidden="true">{SHAPES[state]} </span>
        <span data-field="upstream">
          {follow === undefined
            ? 'no follower is connected'
            : `${follow.upstream} ${LEVEL_WORDS[state]}`}
        </span>
      </dd>
    </div>
  );
}

const LEVEL_WORDS = { healthy: 'is healthy', failing: 'fails', unknown: '' } as const;
/** A shape for each state, so that no state depends on colour alone. */
const SHAPES = { healthy: '\u25CF', failing: '\u2715', unknown: '\u25CC' } as const;

/** The panel of the follower's report, which is part of /health. */
export function UpstreamPanel({ view }: { view: View }) {
  const { freshness } = view;
  // The report is about the present, so the panel is not shown for a moment of the past.
  if (freshness?.follow === undefined || view.at !== undefined) return null;
  const { upstream, isHealthy, reason, followed, ages, budget, counters } = freshness.follow;
  const sinceMs = performance.now() - freshness.heardMs;
  return (
    <section class="panel panel-upstream" aria-labelledby="title-upstream">
      <header class="panel-head">
        <h2 id="title-upstream">Upstream</h2>
        <span class="muted small">{isHealthy ? upstream : `${upstream}: ${reason}`}</span>
      </header>
      <dl class="stats">
        <Stat label="Followed" field="followed" title="accounts and lists of delegations">
          {formatCount(followed)}
        </Stat>
        <Age label="Marks" field="marksAge" ms={ages.marks} sinceMs={sinceMs} />
        <Age label="Accounts, median" field="medianAge" ms={ages.accountsMedian} {...{ sinceMs }} />
        <Age label="Accounts, oldest" field="oldestAge" ms={ages.accountsMax} sinceMs={sinceMs} />
        <Age label="Markets" field="marketsAge" ms={ages.markets} sinceMs={sinceMs} />
        <Age label="Stream" field="streamAge" ms={ages.stream} sinceMs={sinceMs} />
        <Budget budget={budget} />
        <Counts
          label="Differences"
          field="mismatches"
          title="figures of the exchange that the ledger’s rules do not give"
          counts={counters.mismatches}
        />
        <Counts
          label="Surprises"
          field="surprises"
          title="changes of an account that no trade, funding or mark explains"
          counts={counters.surprises}
        />
      </dl>
    </section>
  );
}

interface AgeProps {
  readonly label: string;
  readonly field: string;
  /** The age when the report was made; null if there is nothing that could have an age. */
  readonly ms: number | null;
  /** The time since the page received the report. */
  readonly sinceMs: number;
}

function Age({ label, field, ms, sinceMs }: AgeProps) {
  return (
    <Stat label={label} field={field} title="age">
      {ms === null ? NOTHING : formatAge(ms + sinceMs)}
    </Stat>
  );
}

function Budget({ budget }: Pick<FollowReport, 'budget'>) {
  if (budget === null) {
    return (
      <Stat label="Budget" field="budget">
        no limit
      </Stat>
    );
  }
  const { limit, left } = budget;
  return (
    <Stat label="Budget left" field="budget" title="weight a minute that the exchange allows">
      {formatCount(left)} of {formatCount(limit)}{' '}
      <Bar share={left / limit} tone="accent" label={`${left} of ${limit}`} />
    </Stat>
  );
}

interface CountsProps {
  readonly label: string;
  readonly field: string;
  readonly title: string;
  readonly counts: Readonly<Record<string, number>>;
}

function Counts({ label, field, title, counts }: CountsProps) {
  const named = Object.entries(counts).map(([name, count]) => `${name} ${count}`);
  return (
    <Stat label={label} field={field} title={title}>
      {named.length === 0 ? 'none' : named.join(', ')}
    </Stat>
  );
}
