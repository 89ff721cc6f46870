/** A subscription of the push connection, in the form in which it is sent. */

export interface UpstreamSubscription {
  readonly type: string;
  readonly [field: string]: string;
}
