/** The data of a page opened by a link. */
export interface Shared {
  expires_at: string;
  is_redacted: boolean;
}
