/** Reports alarms by notifications of the system, with a short sound. */

import type { NoticeState } from '../view/store.ts';
import type { NewAlarm } from './alarm-watch.ts';

/** More are counted, not named. */
const NAMED_MAX = 3;
/** Two short tones: when each starts, in seconds, and its frequency. */
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

  /** Calls back when somebody clicks on a notification. */
  constructor(opened: (user: string) => void) {
    this.#opened = opened;
    // Browsers let a page be heard only after a gesture, in each visit anew.
    for (const gesture of ['pointerdown', 'keydown']) {
      addEventListener(gesture, () => this.#unlockSound(), { passive: true });
    }
  }

  /** Call this from a click, because browsers refuse to ask otherwise. */
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
      // The tag makes the browser show one of several notifications with the same text from several tabs.
      const tag = alarms.map((alarm) => alarm.user).join();
      const notification = new Notification(title, { body: lines.join('\n'), tag });
      notification.onclick = () => {
        focus();
        this.#opened(isOne ? user : '');
      };
    } catch {
      // Some phone browsers show no notifications for a page: the marks and the sound remain.
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
      // Fades out, so that it does not click.
      volume.gain.setTargetAtTime(0, from + TONE_SECONDS / 2, TONE_SECONDS / 4);
      tone.connect(volume).connect(audio.destination);
      tone.start(from);
      tone.stop(from + TONE_SECONDS);
    }
  }
}
