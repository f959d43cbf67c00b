//! Stories of flows.

use super::check_story;

#[test]
fn each_rule_of_a_session_says_what_it_compared() {
    check_story(
        "plan delay=0s effective=row stages=session(gap:v,late=proto,lateness=1s)\n\
         row p0 10:10:00 k=a v=60000\n\
         => watermark 10:10:00\n\
         row p0 10:08:00 k=a v=60000\n\
         => late k=a 10:08:00: its own session [10:08:00,10:09:00) with its lateness of 1s ended at or \
         before 10:10:00 (set by item 1); a delay of 59s1ms would have kept it\n\
         row p0 10:11:00 k=a v=0\n\
         => no_gap\n\
         => watermark 10:11:00\n\
         => emit [10:10:00,10:11:00) k=a count=1\n",
    );
    check_story(
        "plan delay=0s effective=row stages=session(1min,late=merged)\n\
         row p0 10:10:00 k=a\n\
         => watermark 10:10:00\n\
         row p0 10:08:00 k=a\n\
         => late k=a 10:08:00: its session ended at or before 10:10:00 (set by item 1); a delay of 1min1ms \
         would have kept it\n\
         row p0 10:09:30 k=a\n\
         end\n\
         => watermark +inf\n\
         => emit [10:09:30,10:11:00) k=a count=2\n",
    );
}

#[test]
fn the_key_of_a_late_row_is_found_behind_stages_that_move_columns() {
    check_story(
        "plan delay=0s effective=row stages=project(v,k,time)|rename(k,who)|window(sliding(10min,5min),\
         key=who,late=window_end,lateness=1min)\n\
         row p0 10:16:00 k=b\n\
         => watermark 10:16:00\n\
         row p0 10:12:00 k=a\n\
         => late k=a 10:12:00: missed 1 of 2 windows, up to [10:05:00,10:15:00) which with its lateness of \
         1min ended at or before 10:16:00 (set by item 1); a delay of 1ms would have kept it\n",
    );
}

#[test]
fn a_grace_is_said_and_the_side_that_judges_is_the_rows_own() {
    check_story(
        "plan inputs=l(0s),r(0s) effective=row columns=time:time,k:text,v:int \
         stages=filter(v>0)|dedup(v,never)\n\
         row l/p0 10:00:00 k=a v=0\n\
         => filtered\n\
         row r/p0 10:00:00 k=a v=7\n\
         => watermark 10:00:00\n\
         => emit time=10:00:00 k=a v=7\n\
         row r/p3@t2 10:05:00 k=\"a b\" v=7\n\
         => duplicate of item 2\n",
    );
    check_story(
        "plan inputs=l(0s),r(0s) effective=row columns=time:time,k:text \
         stages=join(inner,from=0s,to=1min,grace=5s)\n\
         row l/p0 10:00:00 k=a\n\
         row l/p0 09:59:55 k=a\n\
         row l/p0 09:59:54 k=a\n\
         => late k=a 09:59:54 behind 10:00:00 by more than the grace of 5s (set by item 1); a delay of 1s \
         would have kept it\n\
         row r/p0 10:00:55 k=a\n\
         => watermark 10:00:00\n\
         => emit l_time=09:59:55 l_k=a r_time=10:00:55 r_k=a\n\
         => emit l_time=10:00:00 l_k=a r_time=10:00:55 r_k=a\n",
    );
}
