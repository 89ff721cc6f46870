/** Reports alarms with system notifications and a short sound. */

import type { NoticeState } from '../view/store.ts';
import type { NewAlarm } from './alarm-watch.ts';

/** The maximum number of alarms that a notification describes. Further alarms are only counted. */
const NAMED_MAX = 3;
/** Two short tones, each with its start in seconds and its frequency in hertz. */
const LEVEL_TONES = [
  [0, 880],
  [0.18, 1_175],
] as const;
const TONE_SECONDS = 0.14;
const VOLUME = 0.15;

export function readNoticeState(): NoticeState {
  if (!('Notification' in globalThis) || !isSecureContext) return 'unsupported';
  return Notification.permission === 'default' ? 'ask' : Notification.permission;
}

export class Notifier {
  readonly #opened: (user: string) => void;
  #audio: AudioContext | undefined;

  /**
   * `opened` is called when the person clicks on a notification. Its argument is empty if the
   * notification is about several alarms.
   */
  constructor(opened: (user: string) => void) {
    this.#opened = opened;
    // Browsers let a page play sounds only after a gesture, in each visit again.
    for (const gesture of ['pointerdown', 'keydown']) {
      addEventListener(gesture, () => this.#unlockSound(), { passive: true });
    }
  }

  /** Call this from a click, because browsers otherwise refuse to ask the person for permission. */
  async request(): Promise<NoticeState> {
    if (readNoticeState() === 'ask') await Notification.requestPermission();
    this.#unlockSound();
    return readNoticeState();
  }

  notify(alarms: readonly NewAlarm[]): void {
    if (readNoticeState() !== 'granted') return;
    this.#show(alarms);
    this.#play();
  }

  #show(alarms: readonly NewAlarm[]): void {
    const [{ user, name }] = alarms;
    const isOne = alarms.length === 1;
    const lines = alarms
      .slice(0, NAMED_MAX)
      .map((alarm) => (isOne ? alarm.words : `${alarm.name}: ${alarm.words}`));
    if (alarms.length > NAMED_MAX) lines.push(`and ${alarms.length - NAMED_MAX} more`);
    const title = isOne ? name : `${alarms.length} accounts are beyond their limits`;
    try {
      // Several tabs may notify about the same accounts. The tag makes the browser show only one of
      // these notifications.
      const tag = alarms.map((alarm) => alarm.user).join();
      const notification = new Notification(title, { body: lines.join('\n'), tag });
      notification.onclick = () => {
        focus();
        this.#opened(isOne ? user : '');
      };
    } catch {
      // Some phone browsers show no notifications for a page. The marks and the sound remain.
    }
  }

  #unlockSound(): void {
    if (readNoticeState() !== 'granted') return;
    this.#audio ??= new AudioContext();
    if (this.#audio.state === 'suspended') void this.#audio.resume();
  }

  #play(): void {
    const audio = this.#audio;
    if (audio?.state !== 'running') return;
    for (const [delay, frequency] of LEVEL_TONES) {
      const from = audio.currentTime + delay;
      const tone = new OscillatorNode(audio, { frequency });
      const volume = new GainNode(audio, { gain: VOLUME });
      // The tone fades out, so that its end makes no click.
      volume.gain.setTargetAtTime(0, from + TONE_SECONDS / 2, TONE_SECONDS / 4);
      tone.connect(volume).connect(audio.destination);
      tone.start(from);
      tone.stop(from + TONE_SECONDS);
    }
  }
}
