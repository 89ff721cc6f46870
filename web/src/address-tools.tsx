/**
 * The tools for the address that is shown: a button that copies it, and a link to the operator's
 * explorer.
 */

import { copyAndReport } from './parts/clipboard.ts';
import type { View } from './view/store.ts';

interface AddressToolsProps {
  readonly view: View;
  showNotice(notice: string): void;
}

export function AddressTools({ view, showNotice }: AddressToolsProps) {
  const { user, freshness } = view;
  if (user === '') return null;
  return (
    <span class="address-tools">
      <button type="button" onClick={() => copyAndReport(user, showNotice)}>
        Copy<span class="hidden"> the address that is shown</span>
      </button>
      {freshness?.explorerUrl !== undefined && (
        <a
          class="explorer"
          href={freshness.explorerUrl.replaceAll('{address}', user)}
          target="_blank"
          rel="noopener noreferrer"
        >
          Explorer <span aria-hidden="true">↗</span>
          <span class="hidden">, in a new tab</span>
        </a>
      )}
    </span>
  );
}
