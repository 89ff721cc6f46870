/** The button "Forget key". It asks first, because the page cannot show the key again. */

import { useState } from 'preact/hooks';
import { closeDialogOf, Dialog } from './parts/dialog.tsx';

interface ForgetKeyProps {
  forget(isWithAddresses: boolean): void;
}

export function ForgetKey({ forget }: ForgetKeyProps) {
  const [isAsking, setAsking] = useState(false);
  return (
    <>
      <button type="button" class="quiet forget" onClick={() => setAsking(true)}>
        Forget key
      </button>
      {isAsking && <ForgetDialog forget={forget} close={() => setAsking(false)} />}
    </>
  );
}

function ForgetDialog({ forget, close }: ForgetKeyProps & { close(): void }) {
  const [isWithAddresses, setWithAddresses] = useState(false);
  return (
    <Dialog name="forget" title="Forget the key?" close={close}>
      <p>This browser then no longer knows the key. To see anything here, you need it again.</p>
      <label class="choice">
        <input
          type="checkbox"
          checked={isWithAddresses}
          onChange={(event) => setWithAddresses(event.currentTarget.checked)}
        />
        Forget the addresses and their charts too
      </label>
      <div class="dialog-buttons">
        <button type="button" onClick={closeDialogOf}>
          Keep it
        </button>
        <button type="button" class="primary" onClick={() => forget(isWithAddresses)}>
          Forget it
        </button>
      </div>
    </Dialog>
  );
}
