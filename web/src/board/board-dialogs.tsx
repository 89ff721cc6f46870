/**
 * The dialog that adds accounts to the board, and the dialog that sets limits for all its accounts.
 */

import { useMemo, useState } from 'preact/hooks';
import type { Tone } from '../figures/risk-levels.ts';
import { formatCount } from '../figures/text.ts';
import { Dialog } from '../parts/dialog.tsx';
import { type AddressBook, type Entry, mergeBooks, usersOnBoard } from '../view/address-book.ts';
import { ACCOUNTS_MAX, type AccountList, readAccountList } from './account-list.ts';
import { type LimitDrafts, LimitFields, readLimits } from './limit-fields.tsx';

interface BookDialogProps {
  readonly book: AddressBook;
  changeBook(book: AddressBook): void;
  close(): void;
}

export function AddDialog({ book, changeBook, close }: BookDialogProps) {
  return (
    <Dialog name="add" title="Add accounts" close={close}>
      <AddForm {...{ book, changeBook }} done={close} />
    </Dialog>
  );
}

interface AddFormProps {
  readonly book: AddressBook;
  changeBook(book: AddressBook): void;
  done(): void;
}

export function AddForm({ book, changeBook, done }: AddFormProps) {
  const [text, setText] = useState('');
  const list = useMemo(() => readAccountList(text), [text]);
  const merged = useMemo(() => mergeBooks(book, list.book), [book, list]);
  const isTooLong = usersOnBoard(merged).length > ACCOUNTS_MAX;
  const submit = (event: Event) => {
    event.preventDefault();
    if (list.book.size === 0 || isTooLong) return;
    changeBook(merged);
    setText('');
    done();
  };
  return (
    <form class="add-form" onSubmit={submit}>
      <label for="account-list">Addresses, one per line, with a label if you like; or CSV</label>
      <textarea
        id="account-list"
        rows={8}
        spellcheck={false}
        placeholder={'0x… Treasury\n0x… Market making'}
        value={text}
        aria-describedby="list-findings"
        onInput={({ currentTarget }) => setText(currentTarget.value)}
      />
      <FilePicker read={setText} />
      <Findings list={list} isTooLong={isTooLong} />
      <button type="submit" class="primary" disabled={list.book.size === 0 || isTooLong}>
        {list.book.size === 0 ? 'Add' : `Add ${countAccounts(list.book.size)}`}
      </button>
    </form>
  );
}

function countAccounts(count: number): string {
  return count === 1 ? '1 account' : `${formatCount(count)} accounts`;
}

function FilePicker({ read }: { read: (text: string) => void }) {
  return (
    <label class="file">
      Or a file: text, CSV, or one that was saved here
      <input
        type="file"
        accept=".txt,.csv,.json,text/plain,text/csv,application/json"
        onChange={({ currentTarget }) => void currentTarget.files?.[0]?.text().then(read)}
      />
    </label>
  );
}

/**
 * The maximum number of findings of each kind that are listed. Further findings are only counted.
 */
const NAMED_MAX = 20;

function Findings({ list, isTooLong }: { list: AccountList; isTooLong: boolean }) {
  const { problems, cut, repeated } = list;
  return (
    <div id="list-findings" role="status" class="small">
      {isTooLong && <p class="loss">A board has at most {formatCount(ACCOUNTS_MAX)}.</p>}
      {repeated > 0 && (
        <p class="muted">
          {repeated === 1 ? 'An address is named again' : `${repeated} addresses are named again`}:
          each is one account, with its last label.
        </p>
      )}
      <FindingList findings={problems} tone="loss" />
      <FindingList findings={cut} tone="warn" />
    </div>
  );
}

function FindingList({ findings, tone }: { findings: readonly string[]; tone: Tone }) {
  if (findings.length === 0) return null;
  return (
    <ul class="findings">
      {findings.slice(0, NAMED_MAX).map((finding) => (
        <li key={finding} class={tone}>
          {finding}
        </li>
      ))}
      {findings.length > NAMED_MAX && <li>and {findings.length - NAMED_MAX} more</li>}
    </ul>
  );
}

export function LimitsDialog({ book, changeBook, close }: BookDialogProps) {
  const [drafts, setDrafts] = useState<LimitDrafts>({});
  const limits = readLimits(drafts);
  const users = usersOnBoard(book);
  const change = (isCleared: boolean) => {
    const changed = Array.from(book, ([user, entry]): [string, Entry] => {
      const thresholds = isCleared ? {} : { ...entry.thresholds, ...limits };
      return [user, entry.isOnBoard ? { ...entry, thresholds } : entry];
    });
    changeBook(new Map(changed));
    close();
  };
  const submit = (event: Event) => {
    event.preventDefault();
    if (limits !== undefined) change(false);
  };
  return (
    <Dialog name="limits" title={`Limits for ${countAccounts(users.length)}`} close={close}>
      <form class="account-form" onSubmit={submit}>
        <LimitFields drafts={drafts} change={setDrafts} />
        <p class="muted small">An empty field leaves the limits of the accounts unchanged.</p>
        <div class="buttons">
          <button type="submit" class="primary" disabled={limits === undefined}>
            Set for all
          </button>
          <button type="button" onClick={() => change(true)}>
            Remove all limits
          </button>
        </div>
      </form>
    </Dialog>
  );
}
