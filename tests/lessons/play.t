#!/usr/bin/perl
# play.t -- a lesson at the prompt: every kind of step, every command
use strict;
use warnings;
use FindBin;
use lib $FindBin::Bin;
use Play;
use Cli;
use Test::More;

sub steps { return join "\n", map { $RIGHT{$_} } @_; }

# ---- from the beginning to the end -----------------------------------------------------------
fresh();
my $all = learn(steps(@Play::STEPS) . "\n");
has_text($all, qr/\AX01 A mean of one's own \(about 3 minutes\)\n/, 'it begins with its name');
has_text($all, qr/> x = torch.tensor\(\{1., 2., 6.\}\)\n> x:sum\(\)\ntensor\(9.\)\nThree/,
    'a demonstration runs as if it were typed');
has_text($all, qr/\A(?:\S+\s+){1,60}?:answer YOUR GUESS/,
    'the first question comes within 60 words');
is(() = $all =~ /^\[PASS\]/mg, 8, 'each right answer is told in words');
has_text($all, qr/^\[KEPT\] Your answer is in your progress/m, 'an explanation is kept');
has_text($all, qr/^\[DONE\] X01, .*: 9 of 9 steps answered\.$/m, 'the end says what was done');
unlike($all, qr/\[FAIL\]|Error/, 'nothing fails');
is(() = progress() =~ /"event": "pass"/g, 8, 'each pass is an event');
has_text(progress(), '"event": "finish"', 'the end is one too');
has_text(learn(":review\n"), qr/done every step.*4 do task: passed\n  function mean/s,
    'afterwards one can look back');

# ---- going wrong -----------------------------------------------------------------------------
fresh();
my $wrong = learn(join "\n", ':answer 9', ':check', 'function mean(x) return x:sum() end', ':check',
    ':check', ':check', ':hint', ':hint', ':hint', ':hint', ':hint', ':reveal', '6 * 7',
        ':check do',
    ':answer b', 'oops(', ')', ':frob', ':skip', 'mean(torch.tensor({2., 4.}))', '');
has_text($wrong, qr/\[FAIL\] you said 9; it is 3.0. That is the sum.\n9 divided by 3/,
    'a wrong guess is told what is so, and why it was thought');
has_text($wrong, qr/\[NOTE\] There is no code in this answer yet.\n\s+next/,
    'nothing typed: a word');
has_text($wrong,
    qr/^\[FAIL\] it is the mean \(case 1 of 4, seed 7\)\n  measured  [^\n]*\n  expected /m,
    'a failure says what was measured and what was expected');
has_text($wrong, qr/^  why       Every length[^\n]*\n  next      print\(sample/m,
    '... why it matters, and what to look at');
is(() = $wrong =~ /That was the third time/g, 1, 'after three a hint is offered, once');
has_text($wrong, qr/\[HINT 1 of 4\].*\[HINT 4 of 4\].*Those were all four/s,
    'hints go up in four rungs');
has_text($wrong, qr/One right answer:\n  function mean\(x\)\n/, ':reveal shows a right one');
has_text($wrong, qr/^42$/m, 'a line between is just Lua');
has_text($wrong, 'this step wants code', 'an answer where code is wanted is turned back');
has_text($wrong, 'no command is called :frob', 'an unknown command is turned back');
has_text($wrong, qr/Step 5 of 11.*tensor\(3\.\)/s,
    ':skip goes on and leaves a right answer behind');
has_text(progress(), qr/"event": "skip".*"step": "do"/, '... and is an event');
unlike(progress(), qr/"event": "pass"[^\n]*"step": "do"/, '... that gives no credit');

# ---- moving about ----------------------------------------------------------------------------
fresh();
my $moved = learn(join "\n", ':goto fix', 'x, mean(x)', ':goto nowhere', ':goto 4', ':next',
    'function mean(x) return 1 end', ':reset step', ':check', ':play',
        'function mean(x) return x:mean() end',
    ':check', ':play', ':check', 'function mean(x) return x:mean() end', ':check', ':replay',
        ':review',
    ':reset lesson', ':review', ':quit', ':hint', ':lesson', ':reset all', ':reset all yes', '');
has_text($moved, qr/Step 5 of 11.*tensor\(\[1., 2., 6.\]\)\ntensor\(3\.\)/s,
    ':goto leaves what lies before as if it had been done');
has_text($moved, "no step 'nowhere'; its steps are why, see, guess",
    'an unknown step names the others');
has_text($moved, qr/(Step 4 of 11.*){3}There is no code/s,
    ':next says it again; :reset step forgets its lines');
has_text($moved, qr/Play: .*There is no code.*Back: .*There is no code.*\[PASS\] Write it/s,
    'lines in :play do not count');
has_text($moved, qr/Once more, with other numbers.*do task: open, passed before/s,
    ':replay begins again, the credit stays');
has_text($moved, qr/From the beginning.*do task: open\n/s, ':reset lesson takes it');
has_text($moved, 'X01 is left; :lesson X01', ':quit leaves');
has_text($moved, qr/no lesson is open/, '... and then there is no lesson');
has_text($moved, ':reset all yes', ':reset all asks to be meant');
is(progress(), '', '... and then nothing is left');

# ---- other ways to say it --------------------------------------------------------------------
fresh();
my $ways = learn(join "\n", '%answer 3', '%hint', ':skip', ':skip', ':answer B', ':answer x',
    ':answer a b',
    ':answer a', ':answer a,c', ':answer a b', ':answer b c a', ':answer many', ':answer 4 KiB',
        ':answer 4 kB',
    ':answer 2b 1a', ':answer short', ':answer ' . 'word ' x 60, '');
has_text($ways, qr/\[PASS\] as you said/, '% does what : does');
has_text($ways, qr/\[PASS\] right. 0 \/ 0 is nan/, 'a capital letter is a letter');
has_text($ways, qr/'x' is none of a to c/, 'what is no option is said');
has_text($ways, qr/\[FAIL\] not that one. b: That is a sum/, 'a wrong choice of many is named');
has_text($ways, qr/\[FAIL\] What you named is right; something is missing/,
    'and so is a missing one');
has_text($ways, qr/name all 3 blocks/, 'an order needs all');
has_text($ways, qr/\[PASS\] right. The quotient comes last/, 'another right order is right');
has_text($ways, qr/an answer is a number, in B/, 'a number is asked for');
has_text($ways, qr/\[FAIL\] not that one. Four bytes.*\[PASS\] right. Four bytes/s,
    'units are read');
has_text($ways, qr/\[PASS\] right. The mean divides/, 'pairs in any order');
has_text($ways, qr/That is 1 word\..*That is 60 words; at most 40/s,
    'an explanation has its length');

# ---- narrow and wide -------------------------------------------------------------------------
for my $columns (40, 100) {
    fresh();
    my $typed = ":check\nfunction mean(x) return 1 end\n:check\n:hint\n:review\n";
    my $text = learn(steps('guess') . "\n$typed",
        columns => $columns);
    my @wide = grep { length > $columns && !/^(?:> |\.\.\. |  \S.*[({])/ } split /\n/, $text;
    is("@wide", '', "at $columns columns no line of words is longer");
}
fresh();
my $narrow = learn(steps('guess') . "\nfunction mean(x) return 1 end\n:check\n", columns => 40);
has_text($narrow, qr/^measured:\n  1 .*^why:\n  Every/ms,
    'at 40 columns labels stand above their text');

# ---- appeal, watch, a lesson of its own ------------------------------------------------------
fresh();
my $appeal = learn(steps('guess')
    . "\n:appeal\nfunction mean(x) return 1 end\n:check\n:appeal it is\n:review\n");
has_text($appeal, 'no verdict to appeal against', 'an appeal needs a verdict');
has_text($appeal, qr/\[DISPUTED\] .*For the\s+author:\s+\S+X01_do/s, 'an appeal writes a file');
has_text($appeal, 'do task: disputed', '... and the step is disputed, not failed');
my ($file) = glob "$ENV{XDG_DATA_HOME}/dlrepl/appeals/*.lua";
has_text(slurp($file), qr/X01\.do .*seed 7.*why: it is.*function mean/s,
    '... with all that is needed');
fresh();
my $path = write_file('mine.lua', "function mean(x) return x:mean() end\n");
has_text(learn(steps('guess') . "\n:watch $path\n"),
    qr/Watching .*\[PASS\] Write it.*Step 5 of 11/s,
    ':watch checks a file, and goes on when it passes');

# ---- a lesson that changes, one with a fault of its own --------------------------------------
# The fixture with one thing changed, at the same place each time.
sub changed {
    my ($from, $to) = @_;
    system('rm', '-rf', "$TMP/changed");
    system('cp', '-r', $FIXTURES, "$TMP/changed");
    my $text = slurp("$TMP/changed/01_mean.lua");
    $text =~ s/$from/$to/ or die $from;
    return write_file('changed/01_mean.lua', $text);
}

fresh();
learn(steps('guess', 'do'));
my $other = learn(":review\n", lesson => changed(qr/of any length/, 'of any size'));
has_text($other, qr/do task: passed \(changed since you did it\)/,
    'a step that was edited is told');
has_text($other, qr/guess predict: passed\n/, '... the others are not');
has_text($other, qr/Step 5 of 11/, '... and nothing is lost');
fresh();
my $fault = learn(steps('guess', 'do') . "\n:skip\n:review\n",
    lesson => changed(qr/r:ok\("a value/, 'error("oops") r:ok("a value'));
has_text($fault, qr/\[CHECKER ERROR\] not your fault.*it said .*oops/s, 'a broken check says so');
has_text($fault, qr/Step 5 of 11.*do task: passed/s, '... and :skip goes on with credit');
my ($bundle) = glob "$ENV{XDG_DATA_HOME}/dlrepl/appeals/*.lua";
has_text(slurp($bundle // '/dev/null'), 'function mean(x)', '... a file for the author is there');

# ---- another language ------------------------------------------------------------------------
my $there = changed(qr/format = 1/, 'format = 1');
mkdir "$TMP/changed/words";
write_file('changed/words/de.lua', 'return {["9 divided by 3."] = "9 geteilt durch 3."}');
for my $case (['de', '9 geteilt durch 3.'], ['en', '9 divided by 3.'], ['fr', '9 divided by 3.']) {
    fresh();
    local $ENV{DLREPL_LANG} = $case->[0];
    has_text(learn(steps('guess'), lesson => $there), $case->[1], "words for $case->[0]");
}

# ---- lines that were only tried out ----------------------------------------------------------
fresh();
my $tried = learn(join("\n", ':answer b', ':answer b', 'model:to("cuda")', 'x = x:to("cuda")',
    'local function send(t, device) return t:to(device) end', 'out = model(x)', 'print(x.device)',
    'function loss_on(m, x, y, device) return F.cross_entropy(m:to(device)(send(x, device)), '
    . 'send(y, device)) end', 'loss_on(model, x, y, "cuda")', 'model:cpu()', ':check', ''),
    lesson => 'L10');
has_text($tried, qr/\[PASS\] One training step/, 'what was tried out is no part of the answer');
fresh();
has_text(learn(join("\n", (':skip') x 3, slurp("$TOP/lessons/sol/22_do.lua") =~ s/\n\s*/ /gr,
    ('train_step(model, opt, x, y, 16)') x 3, 'all = model(x["0:20"])', ':check', ''),
    lesson => 'L22'), qr/\[PASS\] The same update in pieces/, '... nor what it has changed');

# ---- the real lessons, skipped through -------------------------------------------------------
for my $id (qw(L10 L22 L26)) {
    fresh();
    my $skipped = learn(":skip\n" x 12, lesson => $id);
    has_text($skipped, qr/\[DONE\] $id, .*: 0 of (\d+)\s+steps\s+answered,\s+\1\s+skipped/,
        "$id can be skipped through");
    unlike($skipped, qr/NOTE|attempt to|\[FAIL\]/, '... and nothing is missing on the way');
    fresh();
    has_text(learn(":skip\n" x 12 . ":quit\n:lesson " . substr($id, 1) . "\n", lesson => $id),
        'You have done every step', ':lesson takes a number');
}

fresh();
has_text(learn(":answer b\n:lesson L22\ntorch.cuda.get_device_properties(0).total_memory >> 20\n",
    lesson => 'L10'), qr/\[NOTE\] tensors on the GPU.*L22|L22.*\[NOTE\] tensors on the GPU.*^36$/sm,
    'another lesson brings its own GPU, and says what is lost');

is(run({}, $DLREPL, 'learn', 'L99')->{status}, 2, 'an unknown lesson: status 2');
has_text(run({}, $DLREPL, 'learn', 'L99')->{err}, "there is no lesson 'L99'", '... and a word');
is(run({}, $DLREPL, 'learn', '--frob')->{status}, 2, 'an unknown option too');

done_testing();
