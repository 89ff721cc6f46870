/**
 * Edits the data that the browser stores about one account: its label, whether it is on the board,
 * and its limits.
 */

import type { ComponentChildren } from 'preact';
import { useState } from 'preact/hooks';
import type { Answer } from '../figures/answers.ts';
import { formatCount, formatTime } from '../figures/text.ts';
import { Dialog } from '../parts/dialog.tsx';
import {
  type AddressBook,
  changeEntry,
  cleanLabel,
  entryOf,
  LABEL_LENGTH_MAX,
  nameOf,
} from '../view/address-book.ts';
import type { Alarms } from '../view/store.ts';
import { type LimitDrafts, LimitFields, readLimits } from './limit-fields.tsx';

interface AccountDialogProps {
  readonly user: string;
  readonly book: AddressBook;
  readonly alarms: Alarms;
  /** A text that says where the figures of the row are from. */
  readonly children?: ComponentChildren;
  changeBook(book: AddressBook): void;
  close(): void;
}

export function AccountDialog(props: AccountDialogProps) {
  const { user, book, alarms, children, changeBook, close } = props;
  const entry = entryOf(book, user);
  const [label, setLabel] = useState(entry.label);
  const [isOnBoard, setOnBoard] = useState(entry.isOnBoard);
  const [drafts, setDrafts] = useState<LimitDrafts>(entry.thresholds);
  const thresholds = readLimits(drafts);
  const save = (event: Event) => {
    event.preventDefault();
    if (thresholds === undefined) return;
    changeBook(changeEntry(book, user, { label: cleanLabel(label), isOnBoard, thresholds }));
    close();
  };
  return (
    <Dialog name="account" title={nameOf(book, user)} close={close}>
      <p class="address-text">{user}</p>
      {children}
      {alarms.get(user)?.map(({ name, mark }) => (
        <p key={name} class="alarm-words">
          ⚑ {mark}
        </p>
      ))}
      <form class="account-form" onSubmit={save}>
        <label class="limit">
          <span>Label</span>
          <input
            name="label"
            autocomplete="off"
            maxLength={LABEL_LENGTH_MAX}
            value={label}
            onInput={({ currentTarget }) => setLabel(currentTarget.value)}
          />
        </label>
        <label class="choice">
          <input
            type="checkbox"
            checked={isOnBoard}
            onChange={({ currentTarget }) => setOnBoard(currentTarget.checked)}
          />
          On the board
        </label>
        <LimitFields drafts={drafts} change={setDrafts} />
        <p class="muted small">
          Saved in this browser. The page watches an account with limits as long as the page is
          open, also in a hidden tab.
        </p>
        <button type="submit" class="primary" disabled={thresholds === undefined}>
          Save
        </button>
      </form>
    </Dialog>
  );
}

/** Returns a sentence that says where an answer is from. */
export function describeOrigin({ height, time, accountTime }: Answer): string {
  const place =
    height === undefined
      ? 'The exchange’s own answer'
      : `Of height ${formatCount(height)}, ${formatTime(time)}`;
  return accountTime === undefined ? `${place}.` : `${place}, read at ${formatTime(accountTime)}.`;
}
