/** The report of a probe, and its form as text. */

import type { QuestionBody } from '../../info/question.ts';
import { describeMismatch, type Mismatch } from '../dialect/dialect.ts';
import type { AnswerForm } from './answer-form.ts';
import type { Spread } from './distribution.ts';
import type { PrintedAmounts } from './printed-check.ts';
import type { SubscriptionRow } from './probe-push.ts';

export interface QuestionRow {
  readonly question: QuestionBody;
  /**
   * `not asked` means that the probe ended before, or that a value that the question needs was not
   * known.
   */
  readonly answered: 'yes' | 'no' | 'not asked';
  readonly status: number | undefined;
  /** The reason why there is no answer; undefined if there is an answer. */
  readonly reason: string | undefined;
  readonly ms: number | undefined;
  readonly bytes: number | undefined;
  /**
   * The time from the `time` of the answer to the time of this machine's clock; undefined if the
   * answer has no `time`.
   */
  readonly ageMs: number | undefined;
  /** The comparison with our schema; undefined if we have no schema, or if there is no answer. */
  readonly form: AnswerForm | undefined;
  /**
   * The reason why our reader refuses the answer; undefined if it can read the answer, or if we
   * have no reader for it.
   */
  readonly unreadable: string | undefined;
}

export interface AccountRow {
  readonly dex: string;
  /** The answer to `userAbstraction`; undefined if the server does not answer this question. */
  readonly mode: string | undefined;
  /** Sentences about what the figures alone do not show, and about what we do not know. */
  readonly notes: readonly string[];
  /** The number of figures that were compared with our figures. */
  readonly figures: number;
  /** The number of figures that depend on a rule or an amount that we do not know. */
  readonly unknown: number;
  readonly differing: readonly Mismatch[];
  /** The reason why the figures could not be compared; undefined if they were compared. */
  readonly reason: string | undefined;
  readonly amounts: PrintedAmounts;
}

export interface ProbeReport {
  readonly program: string;
  /** The scheme, the host and the port of the server. */
  readonly upstream: string;
  readonly startedAt: string;
  readonly seconds: number;
  /** False if the probe was stopped before its time. */
  readonly isComplete: boolean;
  /** The user whose account was read. */
  readonly user: string;
  readonly weight: { readonly spent: number; readonly perMinute: number };
  readonly questions: readonly QuestionRow[];
  readonly subscriptions: readonly SubscriptionRow[];
  readonly accounts: readonly AccountRow[];
  /**
   * The ages of repeated answers about an account, by this machine's clock and by the `Date` of the
   * responses.
   */
  readonly ages: { readonly byClock: Spread | undefined; readonly byDate: Spread | undefined };
  /**
   * How far the server's clock is ahead of this machine's clock. The value is rough, because `Date`
   * has whole seconds.
   */
  readonly dateAheadMs: number | undefined;
  readonly limits: {
    readonly status429: number;
    readonly pushConnections: number;
    readonly pushMishaps: number;
    readonly pushLines: readonly string[];
  };
}

export function formatReport(report: ProbeReport): string {
  const { program, upstream, startedAt, seconds, isComplete, weight, limits } = report;
  const end = isComplete ? '' : ', stopped early';
  const lines = [
    `${program} probe of ${upstream}, from ${startedAt}, ${seconds} s${end}`,
    `weight: ${weight.spent} in all, at most ${weight.perMinute} a minute`,
    '',
    ...formatQuestions(report.questions),
    '',
    ...formatSubscriptions(report.subscriptions),
    '',
    `account answers, age by this clock: ${formatSpread(report.ages.byClock)}`,
    `account answers, age by the Date of the response: ${formatSpread(report.ages.byDate)}`,
    `the server's Date is ahead of this clock by ${formatMs(report.dateAheadMs)}`,
    ...report.accounts.flatMap(formatAccount),
    `limits: ${limits.status429} answers with status 429, ${limits.pushConnections} push ` +
      `connections, ${limits.pushMishaps} of them lost or errors pushed`,
    ...limits.pushLines.map((line) => `  ${line}`),
  ];
  return `${lines.join('\n')}\n`;
}

function formatQuestions(rows: readonly QuestionRow[]): string[] {
  const titles = ['question', 'answered', 'form', 'ms', 'age ms'];
  const cells = rows.map((row) => [
    row.question.type,
    row.answered,
    describeForm(row),
    String(row.ms ?? '-'),
    String(row.ageMs ?? '-'),
  ]);
  const [title, ...table] = alignColumns([titles, ...cells]);
  return [title, ...rows.flatMap((row, index) => [table[index], ...listFindings(row)])];
}

function describeForm({ form, unreadable, answered }: QuestionRow): string {
  if (answered !== 'yes') return '-';
  if (unreadable !== undefined) return 'unreadable';
  if (form === undefined) return 'not known';
  return form.differences.length === 0 ? 'ok' : 'differs';
}

function listFindings({ reason, unreadable, form }: QuestionRow): string[] {
  const { differences = [], additional = [] } = form ?? {};
  const lines = differences.map(
    ({ path, expected, got, count }) =>
      `${path}: got ${got}, expected ${expected}${count > 1 ? `, ${count} times` : ''}`,
  );
  if (reason !== undefined) lines.push(reason);
  if (unreadable !== undefined) lines.push(`cannot be read: ${unreadable}`);
  if (additional.length > 0) lines.push(`not in our schema: ${additional.join(', ')}`);
  return lines.map((line) => `    ${line}`);
}

function formatSubscriptions(rows: readonly SubscriptionRow[]): string[] {
  if (rows.length === 0) return ['no subscriptions: no markets could be read'];
  const titles = ['subscription', 'confirmed', 'frames', 'first ms', 'every', 'marks'];
  const cells = rows.map((row) => [
    JSON.stringify(row.subscription),
    row.isConfirmed ? 'yes' : 'no',
    String(row.frames),
    String(row.firstMs ?? '-'),
    formatSpread(row.interval),
    row.marksFirst === undefined ? '-' : `${row.marksFirst}, then up to ${row.marksLater}`,
  ]);
  const [title, ...table] = alignColumns([titles, ...cells]);
  const lines = rows.flatMap(({ refused, fault, age }, index) => [
    table[index],
    ...(refused === undefined ? [] : [`    refused: ${refused}`]),
    ...(fault === undefined ? [] : [`    cannot be read: ${fault}`]),
    ...(age === undefined ? [] : [`    trades reach us after ${formatSpread(age)}`]),
  ]);
  return [title, ...lines];
}

function formatAccount({ dex, mode, notes, differing, reason, ...row }: AccountRow): string[] {
  const { figures, unknown, amounts } = row;
  const name = dex === '' ? 'the first dex' : `dex ${dex}`;
  const differ = `${differing.length} of ${figures} figures differ from ours`;
  const verdict = unknown === 0 ? differ : `${differ}, ${unknown} are not known`;
  return [
    `account on ${name}: ${reason ?? verdict}`,
    ...(mode === undefined ? [] : [`    mode ${mode}`]),
    ...notes.map((note) => `    ${note}`),
    ...differing.map((mismatch) => `    ${describeMismatch(mismatch)}`),
    ...amounts.strange.map(({ path, got }) => `    ${path}: got ${got}, expected an amount`),
  ];
}

function formatSpread(spread: Spread | undefined): string {
  if (spread === undefined) return '-';
  const { count, medianMs, p95Ms, maxMs } = spread;
  return `${medianMs} ms (95 % within ${p95Ms}, all within ${maxMs}, of ${count})`;
}

function formatMs(ms: number | undefined): string {
  return ms === undefined ? '-' : `${ms} ms`;
}

function alignColumns(rows: readonly (readonly string[])[]): string[] {
  const widths = rows[0].map((_, column) => Math.max(...rows.map((row) => row[column].length)));
  return rows.map((row) =>
    row
      .map((cell, column) => cell.padEnd(widths[column]))
      .join('  ')
      .trimEnd(),
  );
}
