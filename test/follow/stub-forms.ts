/** Forms of the exchange that the follower does not read yet: off unless a test chooses them. */

export interface StubForms {
  /** Lists of dexes have an element that is null, and a dex without tables leaves the member out. */
  readonly oddElements: boolean;
  /** Some positions have margin tiers other than their market's, as vaults have. */
  readonly ownTiers: boolean;
}

export const STUB_FORMS: StubForms = {
  oddElements: false,
  ownTiers: false,
};
