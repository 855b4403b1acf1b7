/** What a page that was opened by a link knows of it. */
export interface Shared {
  expires_at: string;
  is_redacted: boolean;
}
