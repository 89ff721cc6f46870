/**
 * The line above an account: its label, the limits that it has crossed, and a button that opens the
 * dialog for both.
 */

import { useState } from 'preact/hooks';
import { entryOf, nameOf } from '../view/address-book.ts';
import type { View } from '../view/store.ts';
import { AccountDialog } from './account-dialog.tsx';
import { type BoardActions, Notices } from './board.tsx';

export function AccountName({ view, actions }: { view: View; actions: BoardActions }) {
  const { user, book, alarms, notices, at } = view;
  const [isOpen, setOpen] = useState(false);
  const { thresholds } = entryOf(book, user);
  const hasLimits = Object.keys(thresholds).length > 0;
  return (
    <section class="account-name" aria-label="Label and limits">
      <strong data-field="accountName" title={user}>
        {nameOf(book, user)}
      </strong>
      <span role="alert" class="account-alarms">
        {/* Alarms are about the present, so they are not shown for a moment of the past. */}
        {(at === undefined ? alarms.get(user) : undefined)?.map(({ name, mark }) => (
          <span key={name} class="alarm-words" data-alarm={name}>
            ⚑ {mark}
          </span>
        ))}
      </span>
      <span class="spacer" />
      {hasLimits && <Notices state={notices} ask={actions.askToNotify} />}
      <button type="button" class="quiet" onClick={() => setOpen(true)}>
        Label and limits
      </button>
      {isOpen && (
        <AccountDialog
          {...{ user, book, alarms }}
          changeBook={actions.changeBook}
          close={() => setOpen(false)}
        />
      )}
    </section>
  );
}
