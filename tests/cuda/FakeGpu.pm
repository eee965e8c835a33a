# FakeGpu.pm -- a program over the real driver and a CUDA runtime of the tests, for tests/cuda
#
# build-asan/dl_cuda_fake.so is kernels/cuda and its driver, compiled by g++ over fake/; the program
# loads it as it would load the true plugin. See fake/machine.h for what the environment can break.
package FakeGpu;
use strict;
use warnings;
use Cwd 'abs_path';
use Exporter 'import';
use File::Temp 'tempdir';
use Test::More;
our @EXPORT = qw($bin $dir run_lua run_prompt says calls slurp spew cc);

our $bin  = $ENV{DLREPL} // abs_path('build-asan/dlrepl');
our $dir  = tempdir(CLEANUP => 1);
my $fake = abs_path('build-asan/dl_cuda_fake.so');
plan skip_all => "$bin or the plugin of the tests was not built"
    unless -x $bin && $fake && -e $fake;
$ENV{DLREPL_CUDA}        = 1;
$ENV{DLREPL_CUBLAS}      = 0;    # a real one would find no GPU
$ENV{DLREPL_CUDA_PLUGIN} = $fake;
$ENV{LUA_PATH}           = 'tests/lua/?.lua;;';

sub slurp {
    my ($path) = @_;
    open my $f, '<', $path or return '';
    local $/;
    return scalar <$f>;
}
sub spew {
    my ($path, $text) = @_;
    open my $f, '>', $path or die "$path: $!";
    print $f $text;
    close $f;
}

# Output of a program, both streams; %env for it alone.
sub run_lua {
    my ($code, %env) = @_;
    local @ENV{keys %env} = values %env;
    spew("$dir/p.lua", $code);
    return scalar `$bin $dir/p.lua 2>&1 </dev/null`;
}

# The same typed at the prompt, through a pipe.
sub run_prompt {
    my ($lines, %env) = @_;
    local @ENV{keys %env} = values %env;
    spew("$dir/lines", $lines);
    return scalar `timeout 60 $bin -i <$dir/lines 2>&1`;
}

sub says {
    my ($out, $want, $name) = @_;
    my $ok = ref $want ? $out =~ $want : index($out, $want) >= 0;
    return ok($ok, $name) || diag("got:  $out\nwant: $want");
}

# How often a program called each function of CUDA, and what it left.
sub calls {
    my ($code, %env) = @_;
    my $log = "$dir/calls";
    unlink $log;
    my $out = run_lua($code, %env, DLREPL_FAKE_CUDA_LOG => $log);
    my %n = map { /^(\w+) (\d+)$/ ? ($1, $2) : () } split /\n/, slurp($log);
    $n{left} = join ' ', slurp($log) =~ /^left (.*)$/mg;
    return ($out, \%n);
}

# A C file made into a library; false where there is no compiler.
sub cc {
    my ($code, $to) = @_;
    spew("$to.c", $code);
    return system("cc -shared -fPIC -w -o $to $to.c -lm") == 0;
}
1;
